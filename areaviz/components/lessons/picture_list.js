/** The pictures of questions by their names. */
const LESSON_PICTURES = {
  span: spanPicture,
  rectangle: rectanglePicture,
  marks: marksPicture,
  grids: gridsPicture,
  edges: edgesPicture,
  results: resultsPicture,
  order: orderPicture,
  corners: cornersPicture,
  window: windowPicture,
};
