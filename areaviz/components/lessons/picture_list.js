/** The pictures of questions by their names. */
const LESSON_PICTURES = {
  span: spanPicture,
  rectangle: rectanglePicture,
  marks: marksPicture,
  choice: choicePicture,
  order: orderPicture,
  corners: cornersPicture,
  window: windowPicture,
};
