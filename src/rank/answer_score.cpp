#include "rank/answer_score.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

namespace trireme::rank {
namespace {

using Words = std::vector<std::string>;

Words words_of(const std::string& text) {
    std::string plain;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::ispunct(byte) == 0) plain += static_cast<char>(std::tolower(byte));
    }
    std::istringstream stream(plain);
    Words words;
    for (std::string word; stream >> word;) {
        if (word != "a" && word != "an" && word != "the") words.push_back(word);
    }
    return words;
}

// Returns the size of the intersection of both multisets of words.
std::size_t shared_words(const Words& predicted, const Words& right) {
    std::map<std::string, std::size_t> left;
    for (const std::string& word : right) ++left[word];
    std::size_t shared = 0;
    for (const std::string& word : predicted) {
        const auto found = left.find(word);
        if (found == left.end() || found->second == 0) continue;
        --found->second;
        ++shared;
    }
    return shared;
}

AnswerScore score_one(const Words& predicted, const Words& right) {
    const bool is_equal = predicted == right;
    if (predicted.empty() || right.empty()) return {is_equal ? 1.0 : 0.0, is_equal ? 1.0 : 0.0};
    const auto shared = static_cast<double>(shared_words(predicted, right));
    return {is_equal ? 1.0 : 0.0, 2 * shared / static_cast<double>(predicted.size() + right.size())};
}

}  // namespace

std::string normalised_answer(const std::string& text) {
    std::string joined;
    for (const std::string& word : words_of(text)) joined += (joined.empty() ? "" : " ") + word;
    return joined;
}

AnswerScore score_answer(const std::string& predicted, const std::vector<std::string>& right) {
    AnswerScore best;
    const Words words = words_of(predicted);
    for (const std::string& answer : right) {
        const AnswerScore score = score_one(words, words_of(answer));
        best.exact = std::max(best.exact, score.exact);
        best.f1 = std::max(best.f1, score.f1);
    }
    return best;
}

}  // namespace trireme::rank
