"""BERT: bidirectional, token types, norms after each half of a block; heads for masked tokens, spans and classes."""

import numpy as np
import torch
import transformers

import formula
from cases import LENGTHS, POSITIONS, VOCABULARY, Case, draw_texts, mean_cross_entropy, padded

CLASSES = 5


class Bert(Case):
    def __init__(self, name, lengths=tuple(LENGTHS), tied=True):
        super().__init__(name, transformers.BertConfig(
            num_hidden_layers=2, hidden_size=16, num_attention_heads=2, intermediate_size=40,
            max_position_embeddings=POSITIONS, vocab_size=VOCABULARY, type_vocab_size=2, hidden_act="gelu",
            layer_norm_eps=1e-12, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, num_labels=CLASSES,
            tie_word_embeddings=tied, use_cache=False,
            pad_token_id=None,  # otherwise token 0 would learn nothing
        ))  # fmt: skip
        self.samples = draw_texts(lengths=lengths)
        self.begins = np.cumsum([0, *lengths[:-1]])  # first row of each sample
        self.second = [length // 3 for length in lengths]  # rows of token type 0 in each sample
        self.types = [(np.arange(length) >= first).astype(int) for length, first in zip(lengths, self.second)]
        self.batch = {
            "lengths": np.array(lengths),
            "tokens": np.concatenate(self.samples),
            "types": np.concatenate(self.types),
        }

    def run_padded(self, model):
        """Returns the logits of padded and masked samples, and the mask."""
        tokens, mask = padded(self.samples)
        return model(input_ids=tokens, token_type_ids=padded(self.types)[0], attention_mask=mask).logits, mask

    def hidden(self, weights, sample):
        """Returns the last hidden state of a sample, (length, width)."""

        def linear(name, y):
            return y @ weights[name + ".weight"].T + weights[name + ".bias"]

        tables = "bert.embeddings.{}_embeddings.weight"
        tokens = self.samples[sample]
        x = weights[tables.format("word")][tokens] + weights[tables.format("position")][: len(tokens)]
        x = self.norm(weights, "bert.embeddings", x + weights[tables.format("token_type")][self.types[sample]])
        for block in range(self.config.num_hidden_layers):
            prefix = f"bert.encoder.layer.{block}."
            qkv = (linear(f"{prefix}attention.self.{part}", x) for part in ("query", "key", "value"))
            context = formula.attention(*qkv, self.config.num_attention_heads, is_causal=False)
            x = self.norm(weights, prefix + "attention.output", x + linear(prefix + "attention.output.dense", context))
            inner = formula.gelu(linear(prefix + "intermediate.dense", x))
            x = self.norm(weights, prefix + "output", x + linear(prefix + "output.dense", inner))
        return x

    def norm(self, weights, name, y):
        gain, bias = weights[name + ".LayerNorm.weight"], weights[name + ".LayerNorm.bias"]
        return formula.layer_norm(y, gain, bias, self.config.layer_norm_eps)


class Masked(Bert):
    """Predicts a few tokens of each sample."""

    ROWS = [[1, 6, 7, 20], [0, 16], [3]]  # rows within each sample

    def __init__(self, name, tied):
        super().__init__(name, tied=tied)
        rows = [begin + row for begin, own in zip(self.begins, self.ROWS) for row in own]
        draw = np.random.Generator(np.random.PCG64(1))
        self.batch["predicted"] = np.array(rows)
        self.batch["targets"] = draw.integers(0, VOCABULARY, len(rows))

    def build(self):
        return transformers.BertForMaskedLM(self.config)

    def run(self, model, smoothing=0.0):
        logits, mask = self.run_padded(model)
        logits = logits[mask == 1][self.batch["predicted"]]
        return mean_cross_entropy(logits, torch.from_numpy(self.batch["targets"]), smoothing), logits

    def formula_logits(self, weights):
        x = np.concatenate([self.hidden(weights, sample)[rows] for sample, rows in enumerate(self.ROWS)])
        transform = "cls.predictions.transform"
        dense = x @ weights[transform + ".dense.weight"].T + weights[transform + ".dense.bias"]
        x = self.norm(weights, transform, formula.gelu(dense))
        if self.config.tie_word_embeddings:
            return x @ weights["bert.embeddings.word_embeddings.weight"].T + weights["cls.predictions.bias"]
        return x @ weights["cls.predictions.decoder.weight"].T + weights["cls.predictions.decoder.bias"]


class Span(Bert):
    """Predicts where an answer begins and ends; the last sample has none. Samples run singly: no softmax sees padding."""

    ANSWERS = [[9, 12], [16, 16], [1, 3], [-1, -1]]  # first and last row within each sample

    def __init__(self, name):
        super().__init__(name, lengths=(*LENGTHS, 8))
        ends = [length - 1 for length in self.batch["lengths"]]  # the last token is not part of the context
        self.batch["answers"] = np.array(self.ANSWERS)
        self.batch["contexts"] = np.stack([self.second, ends], axis=1)

    def build(self):
        self.config.num_labels = 2
        return transformers.BertForQuestionAnswering(self.config)

    def run(self, model, smoothing=0.0):
        losses, logits = [], []
        for tokens, types, (first, last) in zip(self.samples, self.types, self.ANSWERS):
            place = {"start_positions": torch.tensor([first]), "end_positions": torch.tensor([last])}
            inputs = {"input_ids": torch.from_numpy(tokens)[None], "token_type_ids": torch.from_numpy(types)[None]}
            outputs = model(**inputs, **(place if first >= 0 else {}))
            logits.append(torch.stack([outputs.start_logits[0], outputs.end_logits[0]], dim=1))
            if first >= 0:
                losses.append(outputs.loss)
        return sum(losses) / len(losses), torch.cat(logits)

    def formula_logits(self, weights):
        x = np.concatenate([self.hidden(weights, sample) for sample in range(len(self.samples))])
        return x @ weights["qa_outputs.weight"].T + weights["qa_outputs.bias"]

    def by_sample(self, logits):
        return np.split(logits, self.begins[1:])

    def logits_loss(self, logits, smoothing=0.0):
        answered = [(own.T, answer) for own, answer in zip(self.by_sample(logits), self.ANSWERS) if answer[0] >= 0]
        return sum(formula.cross_entropies(*pair) / 2 for pair in answered) / len(answered)

    def choices(self, logits):
        best, margins = [], []
        for own, (begin, end) in zip(self.by_sample(logits), self.batch["contexts"]):
            sums = {(i, j): own[i, 0] + own[j, 1] for i in range(begin, end) for j in range(i, end)}
            ranked = sorted(sums, key=sums.get, reverse=True)
            best.append(ranked[0])
            margins.append(sums[ranked[0]] - sums[ranked[1]])
        return np.array(best), min(margins)


class Classify(Bert):
    """Predicts the class of each sample from its first row."""

    smoothing = 0.1

    def __init__(self, name):
        super().__init__(name)
        self.batch["predicted"] = self.begins
        self.batch["targets"] = np.array([3, 0, 4])

    def build(self):
        return transformers.BertForSequenceClassification(self.config)

    def run(self, model, smoothing=0.0):
        logits = self.run_padded(model)[0]
        return mean_cross_entropy(logits, torch.from_numpy(self.batch["targets"]), smoothing), logits

    def formula_logits(self, weights):
        x = np.stack([self.hidden(weights, sample)[0] for sample in range(len(self.samples))])
        x = np.tanh(x @ weights["bert.pooler.dense.weight"].T + weights["bert.pooler.dense.bias"])
        return x @ weights["classifier.weight"].T + weights["classifier.bias"]


CASES = [
    Masked("bert_masked", tied=True),
    Masked("bert_masked_untied", tied=False),
    Span("bert_span"),
    Classify("bert_classify"),
]
