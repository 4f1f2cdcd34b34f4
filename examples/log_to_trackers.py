"""Log attention to MLflow, W&B and TensorBoard with a callback during training.

MLflow and Weights & Biases get the exported page, TensorBoard gets its picture. A tracker is used
only if you pass it, so you need none in particular:

    callback = AttentionCallback(SENTENCE, tokenizer, mlflow=mlflow, every=500)
    transformers.Trainer(..., callbacks=[callback])
"""

import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import areaviz
from areaviz.page.notebook import show


class AttentionCallback:
    """A callback that logs the attention on one sentence, for `transformers.Trainer`.

    Args:
        sentence: the text that the model reads each time.
        tokenizer: the model's tokenizer.
        every: number of steps between two logs.
        mlflow: the module, or an object with its `log_artifact`.
        wandb: the module, or an object with its `log` and `Html`.
        writer: a `SummaryWriter` of TensorBoard, or an object with its `add_image`.
    """

    def __init__(
        self,
        sentence: str,
        tokenizer: Any,
        every: int = 500,
        mlflow: Any = None,
        wandb: Any = None,
        writer: Any = None,
    ) -> None:
        self.sentence, self.tokenizer, self.every = sentence, tokenizer, every
        self.mlflow, self.wandb, self.writer = mlflow, wandb, writer

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any, **more: Any) -> None:
        """Log once every `every` steps; `transformers.Trainer` calls this after each step."""
        if state.global_step % self.every == 0:
            self.log(model, state.global_step)

    def log(self, model: Any, step: int) -> None:
        """Record the attention, and send it to each tracker."""
        trace = areaviz.attend(model, self.sentence, tokenizer=self.tokenizer)
        shown = show(trace, widget=False)
        if self.mlflow is not None:
            with tempfile.TemporaryDirectory() as folder:
                page = areaviz.export(trace, Path(folder) / f"attention-{step:06}.html")
                self.mlflow.log_artifact(str(page), "attention")
        if self.wandb is not None:
            self.wandb.log({"attention": self.wandb.Html(shown.html, inject=False)}, step=step)
        if self.writer is not None:
            pixels_HWC = np.asarray(Image.open(io.BytesIO(shown.picture)).convert("RGB"))
            self.writer.add_image("attention", pixels_HWC, step, dataformats="HWC")


def main(folder: str = "runs") -> None:
    """Log a small model with random weights, in place of a model in training, to TensorBoard."""
    import transformers
    from torch.utils.tensorboard import SummaryWriter

    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "small", "dog", "runs", ".")
    tokenizer = transformers.BertTokenizer(vocab={word: index for index, word in enumerate(words)})
    config = transformers.BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
    )
    with SummaryWriter(folder) as writer:
        callback = AttentionCallback("A small dog runs.", tokenizer, writer=writer)
        callback.log(transformers.BertModel(config), 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
