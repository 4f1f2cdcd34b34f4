"""Show what a BERT attends to: single tokens, and spans derived from its queries and keys.

The model is small and has random weights, so this needs no download. You can replace it by a folder
or a name on the hub: `areaviz.attend("bert-base-uncased", "A small dog runs.")`.
"""

import sys

import transformers

import areaviz
from areaviz.trace import file, query

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "small", "dog", "run", "##s", ".")


def main(path: str = "bert.npz") -> None:
    """Run the model, print what its first token attends to, and save the trace.

    The page "Your own attention" opens the trace.
    """
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
    )
    tokenizer = transformers.BertTokenizer(vocab={word: index for index, word in enumerate(WORDS)})
    trace = areaviz.attend(transformers.BertModel(config), "A small dog runs.", tokenizer=tokenizer)
    labels = trace.fields["source"].labels
    for site, attention in trace.maps.items():
        best = query.top_areas(attention, layer=1, head=0, query=1, k=1)[0]
        words = labels[best.area.left : best.area.left + best.area.width]
        print(f"{site}: “{labels[1]}” attends most to {words} ({best.weight:.0%})")
    file.save(trace, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
