// Scores a predicted answer against the correct ones, as SQuAD does. (Rajpurkar et al., 2016, section 6.1)
#pragma once

#include <string>
#include <vector>

namespace trireme::rank {

struct AnswerScore {
    double exact = 0;  // 1 if the normalized answers are equal, otherwise 0
    double f1 = 0;     // harmonic mean of the words' precision and recall
};

// Converts ASCII letters to lower case, removes punctuation and the words a, an and the, and separates the
// remaining words by single spaces.
std::string normalize_answer(const std::string& text);

// Returns the maximum of each score over all correct answers; 0 if there is no correct answer.
AnswerScore score_answer(const std::string& predicted, const std::vector<std::string>& correct_answers);

}  // namespace trireme::rank
