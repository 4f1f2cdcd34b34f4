"""The token ribbon: the spans that items attend to, in the browser and in print."""
