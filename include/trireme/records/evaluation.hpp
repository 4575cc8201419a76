// How good the model is on samples that it does not learn from.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace trireme::records {

struct Evaluation {
    std::size_t samples = 0;              // questions that made no sample included: they have no right answer
    std::size_t targets = 0;              // terms of the loss
    double loss = 0;                      // per target, without label smoothing
    std::optional<double> accuracy = {};  // share of right choices: of hidden tokens, of classes
    std::optional<double> exact_match = {};  // of answers, shares too
    std::optional<double> f1 = {};
    bool has_perplexity = false;  // the loss is of tokens

    double perplexity() const;
};

// "loss 1.2345  perplexity 3.44", "loss 0.6931  accuracy 50.0 %", "... exact match 61.2 %  F1 70.3 %"
std::string describe(const Evaluation& evaluation);

}  // namespace trireme::records
