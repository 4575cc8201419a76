// Scores a predicted answer against the correct ones, as SQuAD does. (Rajpurkar et al., 2016, section 6.1)
#pragma once

#include <string>
#include <vector>

namespace trireme::rank {

struct AnswerScore {
    double exact = 0;  // 1 if the texts are equal
    double f1 = 0;     // harmonic mean of precision and recall of the words
};

// Converts ASCII letters to lower case, removes punctuation and the words a, an, the, and leaves single spaces.
std::string normalised_answer(const std::string& text);

// Returns the best scores over all correct answers; 0 if there is none.
AnswerScore score_answer(const std::string& predicted, const std::vector<std::string>& right);

}  // namespace trireme::rank
