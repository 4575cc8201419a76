// Scores a predicted answer against the correct answers, as SQuAD does (Rajpurkar et al., 2016, section 6.1).
#pragma once

#include <string>
#include <vector>

namespace trireme::rank {

struct AnswerScore {
    double exact = 0;  // 1 if the normalized answers are equal, otherwise 0
    // Harmonic mean of precision and recall: the fractions of the predicted words and of the correct words that
    // both answers have. Equal to `exact` if one of the answers has no words.
    double f1 = 0;
};

// Converts ASCII letters to lower case, removes punctuation and the words a, an and the, and separates the
// remaining words by single spaces.
std::string normalize_answer(const std::string& text);

// Returns the maximum of each score over all correct answers. Both scores are 0 if there is no correct answer.
AnswerScore score_answer(const std::string& predicted, const std::vector<std::string>& correct_answers);

}  // namespace trireme::rank
