"""Show the rectangles of a picture that the class token of a ViT attends to.

The model has random weights. You can replace it by a folder, a name on the hub, or a model of timm.
"""

import sys

import numpy as np
import transformers

import areaviz
from areaviz.trace import file, query


def main(path: str = "vit.npz") -> None:
    """Run the model on a drawn picture, print the heaviest rectangle, and save the trace.

    The page "Your own attention" opens the trace.
    """
    config = transformers.ViTConfig(
        image_size=96,
        patch_size=16,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
    )
    pixels = np.full((96, 144, 3), 40, dtype=np.uint8)
    pixels[30:60, 80:120] = 220, 120, 30
    trace = areaviz.attend(transformers.ViTForImageClassification(config), pixels, area_size=2)
    best = query.top_areas(trace.maps["class token as areas"], layer=1, head=0, query=0, k=1)[0]
    print(f"{best.area} gets {best.weight:.1%}; {trace.details['warning']}")
    file.save(trace, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
