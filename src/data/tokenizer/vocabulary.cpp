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
    bool is_merged = false;          // true if it is in the list of merges
    std::vector<std::size_t> words;  // words that had the pair; some may have lost it since
};

struct Candidate {
    std::int64_t count;
    Pair pair;
};

// True if `a` is merged after `b`.
struct ComesLater {
    const std::vector<std::string>& tokens;

    bool operator()(const Candidate& a, const Candidate& b) const {
        if (a.count != b.count) return a.count < b.count;
        const int left = tokens[a.pair.left].compare(tokens[b.pair.left]);
        return left != 0 ? left > 0 : tokens[a.pair.right] > tokens[b.pair.right];
    }
};

// Returns the distinct pieces of the texts with their counts, in the order of their first appearance.
std::vector<Word> count_words(std::span<const std::string> texts) {
    std::unordered_map<std::string_view, std::size_t> positions;
    std::vector<Word> words;
    const Splitter splitter;
    for (const std::string& text : texts)
        splitter.split(text, [&](std::string_view piece) {
            const auto [at, is_new] = positions.try_emplace(piece, words.size());
            if (is_new) {
                words.push_back({.tokens = {}, .count = 0});
                for (const char byte : piece) words.back().tokens.push_back(static_cast<unsigned char>(byte));
            }
            ++words[at->second].count;
        });
    return words;
}

class Trainer {
public:
    explicit Trainer(std::vector<Word> words)
        : words_(std::move(words)), queue_(ComesLater{vocabulary_.tokens}) {
        vocabulary_.tokens.pop_back();  // removes the end token until the merges are known
        for (std::size_t word = 0; word < words_.size(); ++word) {
            const std::vector<std::uint32_t>& tokens = words_[word].tokens;
            for (std::size_t i = 0; i + 1 < tokens.size(); ++i) change({tokens[i], tokens[i + 1]}, word, +1);
        }
        for (const auto& [pair, seen] : pairs_) queue_.push({seen.count, pair});
        for (std::uint32_t id = 0; id < byte_values; ++id) ids_.emplace(vocabulary_.tokens[id], id);
    }

    Vocabulary learn(std::size_t vocabulary_size) {
        while (vocabulary_.tokens.size() + 1 < vocabulary_size && !queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            const std::int64_t count = pairs_.at(best.pair).count;
            if (count != best.count) {
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
        const std::uint32_t result = token_of(pair);
        // A pair reappears if one of its tokens can be made in a second way. The list of merges contains it
        // only once.
        const Occurrences seen = std::exchange(pairs_.at(pair), {.count = 0, .is_merged = true, .words = {}});
        if (!seen.is_merged) vocabulary_.merges.push_back({pair.left, pair.right, result});
        for (const std::size_t word : seen.words) merge_in(word, pair, result);
        pairs_.at(pair).count = 0;  // overlapping pairs, such as "aa" in "aaa", were miscounted

        std::sort(grown_.begin(), grown_.end());
        grown_.erase(std::unique(grown_.begin(), grown_.end()), grown_.end());
        for (const Pair& touched : grown_) queue_.push({pairs_.at(touched).count, touched});
        grown_.clear();
    }

    // Returns the token of the joined pair. Two pairs may join to the same bytes (a+bc, ab+c) and then share
    // one token.
    std::uint32_t token_of(Pair pair) {
        const auto next_id = static_cast<std::uint32_t>(vocabulary_.tokens.size());
        std::string bytes = vocabulary_.tokens[pair.left] + vocabulary_.tokens[pair.right];
        const auto [at, is_new] = ids_.try_emplace(bytes, next_id);
        if (is_new) vocabulary_.tokens.push_back(std::move(bytes));
        return at->second;
    }

    // Merges from left to right, and updates the counts of the pairs that a merged one touches.
    void merge_in(std::size_t word, Pair pair, std::uint32_t result) {
        std::vector<std::uint32_t>& tokens = words_[word].tokens;
        std::size_t kept = 0;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (i + 1 == tokens.size() || Pair{tokens[i], tokens[i + 1]} != pair) {
                tokens[kept++] = tokens[i];
                continue;
            }
            if (kept > 0) {
                change({tokens[kept - 1], pair.left}, word, -1);
                change({tokens[kept - 1], result}, word, +1);
            }
            if (i + 2 < tokens.size()) {
                change({pair.right, tokens[i + 2]}, word, -1);
                change({result, tokens[i + 2]}, word, +1);
            }
            tokens[kept++] = result;
            ++i;
        }
        tokens.resize(kept);
    }

    void change(Pair pair, std::size_t word, std::int64_t sign) {
        Occurrences& seen = pairs_[pair];
        seen.count += sign * words_[word].count;
        if (sign < 0) return;
        if (seen.words.empty() || seen.words.back() != word) seen.words.push_back(word);
        if (!vocabulary_.merges.empty() && (grown_.empty() || grown_.back() != pair)) grown_.push_back(pair);
    }

    Vocabulary vocabulary_ = byte_vocabulary();
    std::vector<Word> words_;
    std::unordered_map<std::string, std::uint32_t> ids_;  // by the bytes of the token
    std::unordered_map<Pair, Occurrences, PairHash> pairs_;
    std::vector<Pair> grown_;  // pairs whose count the current merge raised
    std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> queue_;  // some counts are outdated
};

}  // namespace

std::optional<std::uint32_t> Vocabulary::special_token(std::string_view spelling) const {
    for (const std::uint32_t id : specials)
        if (tokens[id] == spelling) return id;
    return std::nullopt;
}

Vocabulary byte_vocabulary() {
    Vocabulary vocabulary;
    for (std::size_t byte = 0; byte < byte_values; ++byte) {
        vocabulary.tokens.emplace_back(1, static_cast<char>(byte));
        vocabulary.byte_tokens[byte] = static_cast<std::uint32_t>(byte);
    }
    vocabulary.tokens.emplace_back(end_of_text);
    vocabulary.specials.push_back(byte_values);
    return vocabulary;
}

Vocabulary learn_merges(std::span<const std::string> texts, std::size_t vocabulary_size) {
    if (vocabulary_size < byte_values + 1)
        throw ConfigError(cat("a vocabulary of ", vocabulary_size, " tokens was asked for, but the ",
                              byte_values, " bytes and the end token alone are ", byte_values + 1,
                              "; train at least ", byte_values + 1));
    return Trainer(count_words(texts)).learn(vocabulary_size);
}

}  // namespace trireme::data
