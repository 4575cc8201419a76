// How well a predicted answer fits the right ones, as SQuAD scores it. (Rajpurkar et al., 2016, section 6.1)
#pragma once

#include <string>
#include <vector>

namespace trireme::rank {

struct AnswerScore {
    double exact = 0;  // 1 if the texts are equal
    double f1 = 0;     // harmonic mean of precision and recall of the words
};

// Lower case (of ASCII), without punctuation, without the words a, an, the, and with single spaces.
std::string normalised_answer(const std::string& text);

// The best over all right answers; 0 without any.
AnswerScore score_answer(const std::string& predicted, const std::vector<std::string>& right);

}  // namespace trireme::rank
