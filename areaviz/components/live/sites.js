// Names of sites, the places in a network where attention happens.

export const ENCODER_SELF = 'encoder self', DECODER_SELF = 'decoder self', CROSS = 'encoder-decoder';
