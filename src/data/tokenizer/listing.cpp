// Checks a Listing (the tokens and merges in the files of a tokenizer) and builds the vocabulary.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "data/tokenizer/byte_text.hpp"
#include "data/tokenizer/tokenizer_files.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::data {
namespace {

constexpr std::string_view repair_advice = "; download all files of the tokenizer again, from one source";

// Returns true for a spelling like <pad> or [PAD].
bool looks_special(std::string_view spelling) {
    return spelling.size() > 2 && ((spelling.front() == '<' && spelling.back() == '>') ||
                                   (spelling.front() == '[' && spelling.back() == ']'));
}

class VocabularyBuilder {
public:
    explicit VocabularyBuilder(const Listing& listing) : listing_(listing) {}

    Vocabulary build() {
        collect_ids();
        collect_spellings();
        vocabulary_.tokens.resize(spellings_.size());
        mark_specials();
        add_merges();
        for (std::uint32_t id = 0; id < spellings_.size(); ++id) add_token(id);
        refuse_unmerged_tokens();
        refuse_missing_bytes();
        for (std::uint32_t id = 0; id < spellings_.size(); ++id)
            if (is_special_[id]) vocabulary_.specials.push_back(id);
        return std::move(vocabulary_);
    }

private:
    template <class... Parts>
    [[noreturn]] void refuse_vocabulary(const Parts&... parts) const {
        throw ConfigError(cat(listing_.vocabulary_source, ": ", parts..., repair_advice));
    }
    // The rank of a merge is its index in the list of merges.
    template <class... Parts>
    [[noreturn]] void refuse_merge(std::size_t rank, const Parts&... parts) const {
        const auto& [left, right] = listing_.merges[rank];
        throw ConfigError(cat(listing_.merges_source, ": merge ", rank + 1, ", \"", left, ' ', right, "\", ",
                              parts..., repair_advice));
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

    void collect_spellings() {
        spellings_.resize(ids_.size());
        for (const std::vector<ListedToken>* list : {&listing_.tokens, &listing_.specials})
            for (const ListedToken& token : *list) {
                if (token.id >= spellings_.size())
                    refuse_vocabulary("token \"", token.spelling, "\" has id ", token.id,
                                      ", but there are only ", spellings_.size(), " tokens: the ids have gaps");
                std::string_view& spelling = spellings_[token.id];
                if (!spelling.empty() && spelling != token.spelling)
                    refuse_vocabulary("tokens \"", spelling, "\" and \"", token.spelling,
                                      "\" have the same id ", token.id);
                spelling = token.spelling;
            }
    }

    void mark_specials() {
        is_special_.assign(spellings_.size(), false);
        is_merge_result_.assign(spellings_.size(), false);
        for (const ListedToken& token : listing_.specials) is_special_[token.id] = true;
    }

    void add_merges() {
        std::unordered_set<std::uint64_t> pairs;
        for (std::size_t rank = 0; rank < listing_.merges.size(); ++rank) {
            const auto& [left, right] = listing_.merges[rank];
            const Merge merge{find_merge_token(rank, left), find_merge_token(rank, right),
                              find_merge_token(rank, left + right)};
            if (!pairs.insert(static_cast<std::uint64_t>(merge.left) << 32 | merge.right).second)
                refuse_merge(rank, "is in the list twice");
            is_merge_result_[merge.result] = true;
            vocabulary_.merges.push_back(merge);
        }
    }

    std::uint32_t find_merge_token(std::size_t rank, const std::string& spelling) const {
        const auto at = ids_.find(spelling);
        if (at == ids_.end())
            refuse_merge(rank, "needs the token \"", spelling, "\", which the vocabulary lacks");
        if (is_special_[at->second]) refuse_merge(rank, "uses \"", spelling, "\", which is a special token");
        return at->second;
    }

    void add_token(std::uint32_t id) {
        const std::string_view spelling = spellings_[id];
        if (!is_merge_result_[id] && looks_special(spelling)) is_special_[id] = true;
        if (is_special_[id]) {
            vocabulary_.tokens[id] = spelling;
            return;
        }
        const std::optional<std::string> bytes = parse_spelling(spelling);
        if (!bytes || bytes->empty())
            refuse_vocabulary("token \"", spelling, "\" (id ", id, ") is not spelled in GPT-2's byte alphabet");
        vocabulary_.tokens[id] = *bytes;
        if (bytes->size() == 1) {
            const auto byte = static_cast<unsigned char>(bytes->front());
            vocabulary_.byte_tokens[byte] = id;
            has_byte_token_[byte] = true;
        } else if (!is_merge_result_[id]) {
            unmerged_ids_.push_back(id);
        }
    }

    void refuse_unmerged_tokens() const {
        if (unmerged_ids_.empty()) return;
        const std::size_t others = unmerged_ids_.size() - 1;
        throw ConfigError(cat(listing_.merges_source, ": no merge produces the token \"",
                              spellings_[unmerged_ids_.front()], "\" (id ", unmerged_ids_.front(), ")",
                              others == 0 ? "" : cat(" or ", format_count(others, "other token")),
                              ": the list of ", format_count(listing_.merges.size(), "merge"),
                              " is cut short or belongs to another vocabulary", repair_advice));
    }

    void refuse_missing_bytes() const {
        const auto missing = std::find(has_byte_token_.begin(), has_byte_token_.end(), false);
        if (missing != has_byte_token_.end())
            refuse_vocabulary("no token represents byte ", missing - has_byte_token_.begin(),
                              ": the vocabulary is incomplete or not byte-level");
    }

    const Listing& listing_;
    std::unordered_map<std::string, std::uint32_t> ids_;  // by spelling
    std::vector<std::string_view> spellings_;             // by id
    std::vector<bool> is_special_;                        // by id
    std::vector<bool> is_merge_result_;                   // by id: true if a merge produces the token
    std::vector<std::uint32_t> unmerged_ids_;             // tokens of several bytes that no merge produces
    std::array<bool, byte_values> has_byte_token_{};      // by byte
    Vocabulary vocabulary_;
};

}  // namespace

Vocabulary build_vocabulary(const Listing& listing) { return VocabularyBuilder(listing).build(); }

}  // namespace trireme::data
