"""Common code of all cases: text samples, padded batches, and a float64 run without casts to float32."""

import abc
import contextlib

import numpy as np
import torch

import formula

SEED = 20190214
VOCABULARY = 61
POSITIONS = 24
LENGTHS = [24, 17, 5]  # rows of each sample


class Case(abc.ABC):
    """A model, its input, and the same computation by formula.

    `batch` is the recorded input: `lengths` (samples) counts rows, and everything else has one sample after the other.
    `casting_modules` are the modules of transformers that cast to float32 by name.
    """

    casting_modules = ()
    rate = 3e-3  # learning rate of the ten updates; at higher ones some cases overshoot, which amplifies rounding
    smoothing = 0.0  # label smoothing of a second loss and its gradients, if not 0

    def __init__(self, name, config):
        self.name, self.config, self.batch = name, config, {}
        config._attn_implementation = "eager"

    @abc.abstractmethod
    def build(self):
        """Returns the model, with any weights."""

    @abc.abstractmethod
    def run(self, model, smoothing=0.0):
        """Returns the mean loss, and the logits as recorded, of a model in any precision."""

    @abc.abstractmethod
    def formula_logits(self, weights):
        """Returns the logits by numpy; `weights` has the names of `build().named_parameters()`."""

    def logits_loss(self, logits, smoothing=0.0):
        """Returns the mean loss by numpy, from the logits of all predictions."""
        targets = self.batch["targets"]
        return formula.cross_entropies(logits, targets, smoothing) / len(targets)

    def choices(self, logits):
        """Returns the model's answers, and the least margin between an answer and the next best one."""
        best = np.sort(logits, axis=1)
        return logits.argmax(axis=1), (best[:, -1] - best[:, -2]).min()


def mean_cross_entropy(rows, targets, smoothing):
    total = torch.nn.functional.cross_entropy(rows, targets, reduction="sum", label_smoothing=smoothing)
    return total / len(targets)


def draw_texts(count_more=0, lengths=tuple(LENGTHS)):
    draw = np.random.Generator(np.random.PCG64(SEED))
    return [draw.integers(0, VOCABULARY, length + count_more) for length in lengths]


def padded(samples):
    """Returns the integers of each sample, (samples, longest), followed by zeros, and a mask that is 1 for them."""
    shape = (len(samples), max(len(sample) for sample in samples))
    values, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    for row, sample in enumerate(samples):
        values[row, : len(sample)] = torch.from_numpy(sample)
        mask[row, : len(sample)] = 1
    return values, mask


class LanguageCase(Case):
    """Next-token prediction at every position, over padded and masked samples."""

    def __init__(self, name, config):
        super().__init__(name, config)
        texts = draw_texts(count_more=1)
        self.samples = [text[:-1] for text in texts]
        tokens = np.concatenate(self.samples)
        self.batch = {
            "lengths": np.array([len(sample) for sample in self.samples]),
            "tokens": tokens,
            "predicted": np.arange(len(tokens)),
            "targets": np.concatenate([text[1:] for text in texts]),
        }

    def run(self, model, smoothing=0.0):
        tokens, mask = padded(self.samples)
        positions = torch.arange(tokens.shape[1]).expand_as(tokens)
        logits = model(input_ids=tokens, attention_mask=mask, position_ids=positions).logits[mask == 1]
        return mean_cross_entropy(logits, torch.from_numpy(self.batch["targets"]), smoothing), logits

    def formula_logits(self, weights):
        return np.concatenate([self.sample_logits(weights, sample) for sample in self.samples])


class _DoubleTorch:
    """Replaces torch in a module that names float32, so that the module gets float64."""

    float32 = float = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


@contextlib.contextmanager
def without_float32(modules):
    """Makes these modules of transformers use float64 where they name torch.float32 or torch.float.

    Their casts are right for training in bfloat16. In a float64 run they would round what must be exact: Llama's
    RMSNorm, the frequencies and tables of its rotary positions, and the softmax of eager attention in Llama and ViT.
    Models must also be built within it, because the frequencies are computed then.
    """
    for module in modules:
        module.torch = _DoubleTorch()
    try:
        yield
    finally:
        for module in modules:
            module.torch = torch
