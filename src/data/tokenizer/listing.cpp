// Checks the tokens and merges that a tokenizer's files list, and builds the vocabulary.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "data/tokenizer/byte_text.hpp"
#include "data/tokenizer/tokenizer_files.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::string_view fetch_again = "; fetch the tokenizer's files again, all from one place";

bool looks_special(std::string_view spelling) {
    return spelling.size() > 2 && ((spelling.front() == '<' && spelling.back() == '>') ||
                                   (spelling.front() == '[' && spelling.back() == ']'));
}

class Checker {
public:
    explicit Checker(const Listing& listing) : listing_(listing) {}

    Vocabulary check() {
        collect_ids();
        give_each_id_a_token();
        vocabulary_.tokens.resize(spellings_.size());
        mark_specials();
        add_merges();
        for (std::uint32_t id = 0; id < spellings_.size(); ++id) add_token(id);
        refuse_unmade();
        refuse_missing_bytes();
        for (std::uint32_t id = 0; id < spellings_.size(); ++id)
            if (is_special_[id]) vocabulary_.specials.push_back(id);
        return std::move(vocabulary_);
    }

private:
    template <class... Parts>
    [[noreturn]] void refuse_vocabulary(const Parts&... parts) const {
        throw ConfigError(cat(listing_.vocabulary_source, ": ", parts..., fetch_again));
    }
    template <class... Parts>
    [[noreturn]] void refuse_merge(std::size_t rank, const Parts&... parts) const {
        const auto& [left, right] = listing_.merges[rank];
        throw ConfigError(cat(listing_.merges_source, ": merge ", rank + 1, ", \"", left, ' ', right, "\", ",
                              parts..., fetch_again));
    }

    void collect_ids() {
        for (const std::vector<ListedToken>* list : {&listing_.tokens, &listing_.specials})
            for (const ListedToken& token : *list) {
                const auto [at, is_new] = ids_.try_emplace(token.spelling, token.id);
                if (!is_new && at->second != token.id)
                    refuse_vocabulary("token \"", token.spelling, "\" has two ids, ", at->second, " and ",
                                      token.id);
            }
    }

    void give_each_id_a_token() {
        spellings_.resize(ids_.size());
        for (const std::vector<ListedToken>* list : {&listing_.tokens, &listing_.specials})
            for (const ListedToken& token : *list) {
                if (token.id >= spellings_.size())
                    refuse_vocabulary("token \"", token.spelling, "\" has id ", token.id,
                                      ", but there are only ", spellings_.size(),
                                      " tokens: the ids have holes");
                std::string_view& spelling = spellings_[token.id];
                if (!spelling.empty() && spelling != token.spelling)
                    refuse_vocabulary("tokens \"", spelling, "\" and \"", token.spelling,
                                      "\" have the same id ", token.id);
                spelling = token.spelling;
            }
    }

    void mark_specials() {
        is_special_.assign(spellings_.size(), false);
        is_made_.assign(spellings_.size(), false);
        for (const ListedToken& token : listing_.specials) is_special_[token.id] = true;
    }

    void add_merges() {
        std::unordered_set<std::uint64_t> pairs;
        for (std::size_t rank = 0; rank < listing_.merges.size(); ++rank) {
            const auto& [left, right] = listing_.merges[rank];
            const Merge merge{id_in_merge(rank, left), id_in_merge(rank, right),
                              id_in_merge(rank, left + right)};
            if (!pairs.insert(static_cast<std::uint64_t>(merge.left) << 32 | merge.right).second)
                refuse_merge(rank, "is in the list twice");
            is_made_[merge.result] = true;
            vocabulary_.merges.push_back(merge);
        }
    }

    std::uint32_t id_in_merge(std::size_t rank, const std::string& spelling) const {
        const auto at = ids_.find(spelling);
        if (at == ids_.end())
            refuse_merge(rank, "needs the token \"", spelling, "\", which the vocabulary lacks");
        if (is_special_[at->second]) refuse_merge(rank, "uses the special token \"", spelling, "\"");
        return at->second;
    }

    void add_token(std::uint32_t id) {
        const std::string_view spelling = spellings_[id];
        if (!is_made_[id] && looks_special(spelling)) is_special_[id] = true;
        if (is_special_[id]) {
            vocabulary_.tokens[id] = spelling;
            return;
        }
        const std::optional<std::string> bytes = unspelled(spelling);
        if (!bytes || bytes->empty())
            refuse_vocabulary("token \"", spelling, "\" (id ", id, ") is not spelled in GPT-2's byte alphabet");
        vocabulary_.tokens[id] = *bytes;
        if (bytes->size() == 1) {
            const auto byte = static_cast<unsigned char>(bytes->front());
            vocabulary_.byte_tokens[byte] = id;
            bytes_found_[byte] = true;
        } else if (!is_made_[id]) {
            unmade_.push_back(id);
        }
    }

    void refuse_unmade() const {
        if (unmade_.empty()) return;
        throw ConfigError(
            cat(listing_.merges_source, ": none of its ", listing_.merges.size(), " merges makes token \"",
                spellings_[unmade_.front()], "\" (id ", unmade_.front(), ") and ", unmade_.size() - 1,
                " others: the merges are cut short or belong to another vocabulary", fetch_again));
    }

    void refuse_missing_bytes() const {
        const auto missing = std::find(bytes_found_.begin(), bytes_found_.end(), false);
        if (missing != bytes_found_.end())
            refuse_vocabulary("no token stands for byte ", missing - bytes_found_.begin(),
                              ", so it is no byte-level vocabulary or not a whole one");
    }

    const Listing& listing_;
    std::unordered_map<std::string, std::uint32_t> ids_;  // by spelling
    std::vector<std::string_view> spellings_;             // by id
    std::vector<bool> is_special_;                        // by id
    std::vector<bool> is_made_;                           // by id: true if a merge produces the token
    std::vector<std::uint32_t> unmade_;
    std::array<bool, byte_values> bytes_found_{};
    Vocabulary vocabulary_;
};

}  // namespace

Vocabulary checked(const Listing& listing) { return Checker(listing).check(); }

}  // namespace trireme::data
