// Loss and scores of a model on samples that it is not trained on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace trireme::records {

struct Evaluation {
    // Number of samples. In question answering, a question that does not fit into a sample is included and
    // counts as a wrong answer.
    std::size_t samples = 0;
    std::size_t targets = 0;                 // number of terms of the loss
    double loss = 0;                         // mean per target, without label smoothing
    std::optional<double> accuracy = {};     // fraction of correct predictions of masked tokens or classes
    std::optional<double> exact_match = {};  // fraction of answers that match exactly
    std::optional<double> f1 = {};           // mean F1 of the answers, from 0 to 1
    bool has_perplexity = false;             // true if the targets are tokens

    double compute_perplexity() const;  // exp(loss)
};

// Returns for example "loss 1.2345  perplexity 3.44", "loss 0.6931  accuracy 50.0 %" or
// "loss 1.2345  exact match 61.2 %  F1 70.3 %".
std::string describe(const Evaluation& evaluation);

}  // namespace trireme::records
