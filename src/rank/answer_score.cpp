#include "rank/answer_score.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace trireme::rank {
namespace {

using Words = std::vector<std::string>;

// Returns the words of normalize_answer(text).
Words split_words(const std::string& text) {
    std::string plain_text;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::ispunct(byte) == 0) plain_text += static_cast<char>(std::tolower(byte));
    }
    std::istringstream stream(plain_text);
    Words words;
    for (std::string word; stream >> word;) {
        if (word != "a" && word != "an" && word != "the") words.push_back(word);
    }
    return words;
}

// Returns the number of words that both answers contain. A word that occurs m times in one answer and n times
// in the other counts min(m, n) times.
std::size_t count_shared_words(const Words& predicted, const Words& correct) {
    std::map<std::string, std::size_t> unmatched_counts;
    for (const std::string& word : correct) ++unmatched_counts[word];
    std::size_t shared_count = 0;
    for (const std::string& word : predicted) {
        const auto match = unmatched_counts.find(word);
        if (match == unmatched_counts.end() || match->second == 0) continue;
        --match->second;
        ++shared_count;
    }
    return shared_count;
}

AnswerScore score_one(const Words& predicted, const Words& correct) {
    const bool are_equal = predicted == correct;
    if (predicted.empty() || correct.empty()) return {are_equal ? 1.0 : 0.0, are_equal ? 1.0 : 0.0};
    const auto shared_count = static_cast<double>(count_shared_words(predicted, correct));
    return {are_equal ? 1.0 : 0.0, 2 * shared_count / static_cast<double>(predicted.size() + correct.size())};
}

}  // namespace

std::string normalize_answer(const std::string& text) {
    std::string normalized;
    for (const std::string& word : split_words(text)) normalized += (normalized.empty() ? "" : " ") + word;
    return normalized;
}

AnswerScore score_answer(const std::string& predicted, const std::vector<std::string>& correct_answers) {
    AnswerScore best;
    const Words words = split_words(predicted);
    for (const std::string& answer : correct_answers) {
        const AnswerScore score = score_one(words, split_words(answer));
        best.exact = std::max(best.exact, score.exact);
        best.f1 = std::max(best.f1, score.f1);
    }
    return best;
}

}  // namespace trireme::rank
