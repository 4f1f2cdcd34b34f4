"""The image grid: the areas of a picture that words attend to, in the browser and in print."""
