#include "data/tokenizer/vocabulary.hpp"

#include <algorithm>
#include <compare>
#include <cstdint>
#include <queue>
#include <unordered_map>
#include <utility>

#include "data/tokenizer/splitter.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

struct Word {
    std::vector<std::uint32_t> tokens;
    std::int64_t count;
};

struct Pair {
    std::uint32_t left;
    std::uint32_t right;

    auto operator<=>(const Pair&) const = default;
};

struct PairHash {
    std::size_t operator()(const Pair& pair) const {
        const std::uint64_t mixed =
            (static_cast<std::uint64_t>(pair.left) << 32 | pair.right) * 0x9e3779b97f4a7c15;
        return mixed ^ mixed >> 32;
    }
};

struct Occurrences {
    std::int64_t count = 0;
    bool is_merged = false;          // true if the pair is in the list of merges
    std::vector<std::size_t> words;  // indices of words that contained the pair; some may no longer contain it
};

struct Candidate {
    std::int64_t count;  // of the pair, when the candidate was queued
    Pair pair;
};

// Compares candidates: true if `a` is merged after `b`.
struct ComesLater {
    const std::vector<std::string>& tokens;

    bool operator()(const Candidate& a, const Candidate& b) const {
        if (a.count != b.count) return a.count < b.count;
        const int left = tokens[a.pair.left].compare(tokens[b.pair.left]);
        return left != 0 ? left > 0 : tokens[a.pair.right] > tokens[b.pair.right];
    }
};

// Returns the distinct pre-tokens of the texts, here called words, with their counts, in the order of their
// first occurrence.
std::vector<Word> count_words(std::span<const std::string> texts) {
    std::unordered_map<std::string_view, std::size_t> word_indices;
    std::vector<Word> words;
    const Splitter splitter;
    for (const std::string& text : texts)
        splitter.split(text, [&](std::string_view pretoken) {
            const auto [at, is_new] = word_indices.try_emplace(pretoken, words.size());
            if (is_new) {
                words.push_back({.tokens = {}, .count = 0});
                for (const char byte : pretoken)
                    words.back().tokens.push_back(static_cast<unsigned char>(byte));
            }
            ++words[at->second].count;
        });
    return words;
}

class Trainer {
public:
    explicit Trainer(std::vector<Word> words)
        : words_(std::move(words)), queue_(ComesLater{vocabulary_.tokens}) {
        vocabulary_.tokens.pop_back();  // without the end-of-text token until the merges are known
        for (std::size_t word = 0; word < words_.size(); ++word) {
            const std::vector<std::uint32_t>& tokens = words_[word].tokens;
            for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
                add_occurrences({tokens[i], tokens[i + 1]}, word, +1);
        }
        for (const auto& [pair, occurrences] : pairs_) queue_.push({occurrences.count, pair});
        for (std::uint32_t id = 0; id < byte_values; ++id) ids_.emplace(vocabulary_.tokens[id], id);
    }

    Vocabulary learn(std::size_t vocabulary_size) {
        while (vocabulary_.tokens.size() + 1 < vocabulary_size && !queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            const std::int64_t count = pairs_.at(best.pair).count;
            if (count != best.count) {  // outdated
                if (count > 1) queue_.push({count, best.pair});
            } else if (count > 1) {
                merge(best.pair);
            }
        }
        vocabulary_.specials = {static_cast<std::uint32_t>(vocabulary_.tokens.size())};
        vocabulary_.tokens.emplace_back(end_of_text);
        return std::move(vocabulary_);
    }

private:
    void merge(Pair pair) {
        const std::uint32_t result = find_or_add_token(pair);
        // A pair can occur again after its merge, because later merges may produce one of its tokens anew. The
        // list of merges contains the pair only once.
        const Occurrences occurrences =
            std::exchange(pairs_.at(pair), {.count = 0, .is_merged = true, .words = {}});
        if (!occurrences.is_merged) vocabulary_.merges.push_back({pair.left, pair.right, result});
        for (const std::size_t word : occurrences.words) merge_in_word(word, pair, result);
        // The pair no longer occurs. merge_in_word() miscounts pairs that overlap, such as "aa" in "aaa".
        pairs_.at(pair).count = 0;

        std::sort(raised_pairs_.begin(), raised_pairs_.end());
        raised_pairs_.erase(std::unique(raised_pairs_.begin(), raised_pairs_.end()), raised_pairs_.end());
        for (const Pair& raised_pair : raised_pairs_) queue_.push({pairs_.at(raised_pair).count, raised_pair});
        raised_pairs_.clear();
    }

    // Returns the token for the joined bytes of the pair. Two pairs with the same joined bytes (a+bc, ab+c)
    // share one token.
    std::uint32_t find_or_add_token(Pair pair) {
        const auto next_id = static_cast<std::uint32_t>(vocabulary_.tokens.size());
        std::string bytes = vocabulary_.tokens[pair.left] + vocabulary_.tokens[pair.right];
        const auto [at, is_new] = ids_.try_emplace(bytes, next_id);
        if (is_new) vocabulary_.tokens.push_back(std::move(bytes));
        return at->second;
    }

    // Merges all occurrences of the pair in one word, from left to right, and updates the counts of the
    // neighbouring pairs.
    void merge_in_word(std::size_t word, Pair pair, std::uint32_t result) {
        std::vector<std::uint32_t>& tokens = words_[word].tokens;
        std::size_t kept_count = 0;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (i + 1 == tokens.size() || Pair{tokens[i], tokens[i + 1]} != pair) {
                tokens[kept_count++] = tokens[i];
                continue;
            }
            if (kept_count > 0) {
                add_occurrences({tokens[kept_count - 1], pair.left}, word, -1);
                add_occurrences({tokens[kept_count - 1], result}, word, +1);
            }
            if (i + 2 < tokens.size()) {
                add_occurrences({pair.right, tokens[i + 2]}, word, -1);
                add_occurrences({result, tokens[i + 2]}, word, +1);
            }
            tokens[kept_count++] = result;
            ++i;
        }
        tokens.resize(kept_count);
    }

    // Adds the count of the word to the count of the pair, or subtracts it if `sign` is -1.
    void add_occurrences(Pair pair, std::size_t word, std::int64_t sign) {
        Occurrences& occurrences = pairs_[pair];
        occurrences.count += sign * words_[word].count;
        if (sign < 0) return;
        if (occurrences.words.empty() || occurrences.words.back() != word) occurrences.words.push_back(word);
        // Before the first merge, the constructor queues all pairs.
        if (!vocabulary_.merges.empty() && (raised_pairs_.empty() || raised_pairs_.back() != pair))
            raised_pairs_.push_back(pair);
    }

    Vocabulary vocabulary_ = make_byte_vocabulary();
    std::vector<Word> words_;
    std::unordered_map<std::string, std::uint32_t> ids_;  // by the bytes of the token
    std::unordered_map<Pair, Occurrences, PairHash> pairs_;
    std::vector<Pair> raised_pairs_;  // pairs whose count the current merge raised
    std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> queue_;  // may contain outdated counts
};

}  // namespace

std::optional<std::uint32_t> Vocabulary::find_special_token(std::string_view spelling) const {
    for (const std::uint32_t id : specials)
        if (tokens[id] == spelling) return id;
    return std::nullopt;
}

Vocabulary make_byte_vocabulary() {
    Vocabulary vocabulary;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
        vocabulary.byte_tokens[byte] = static_cast<std::uint32_t>(byte);
    }
    vocabulary.tokens.emplace_back(end_of_text);
    vocabulary.specials.push_back(byte_values);
    return vocabulary;
}

Vocabulary learn_vocabulary(std::span<const std::string> texts, std::size_t vocabulary_size) {
    if (vocabulary_size < byte_values + 1)
        throw ConfigError(cat("a vocabulary of ", vocabulary_size, " tokens is too small: the ", byte_values,
                              " bytes and the end token alone are ", byte_values + 1,
                              " tokens; train at least ", byte_values + 1));
    return Trainer(count_words(texts)).learn(vocabulary_size);
}

}  // namespace trireme::data
