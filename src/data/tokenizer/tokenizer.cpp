#include "trireme/data/tokenizer.hpp"

#include "data/tokenizer/byte_text.hpp"
#include "data/tokenizer/merge_rules.hpp"
#include "data/tokenizer/splitter.hpp"
#include "data/tokenizer/tokenizer_files.hpp"
#include "data/tokenizer/vocabulary.hpp"
#include "data/tokenizer/word_index.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"

namespace trireme::data {
namespace {

// Identification of OpenAI's vocabulary: the SHA-256 of to_bytes(), and the number of tokens.
constexpr std::string_view gpt2_hash = "2eaffd7cc0fc2077339c7be396ca35adf227668e2318737222ee99785c351b23";
constexpr std::size_t gpt2_tokens = 50257;

std::string find_tokenizer_name(const Vocabulary& vocabulary) {
    const std::size_t size = vocabulary.tokens.size();
    if (vocabulary.merges.empty() && size == byte_values + 1) return "bytes";
    if (size == gpt2_tokens && sha256_hex(to_tokenizer_json(vocabulary)) == gpt2_hash) return "gpt2";
    return cat("bpe-", size);
}

// Throws ConfigError if an ordinary token has the spelling `spelling`: the file of a tokenizer can hold each
// spelling only once.
void refuse_ordinary_spelling(const Vocabulary& vocabulary, const std::string& spelling) {
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id)
        if (spell_bytes(vocabulary.tokens[id]) == spelling)
            throw ConfigError(cat("\"", spelling,
                                  "\" cannot become a special token: it is an ordinary token of the tokenizer ",
                                  find_tokenizer_name(vocabulary), " (id ", id, "); choose another tokenizer"));
}

void add_special_token(Vocabulary& vocabulary, const std::string& spelling) {
    if (vocabulary.find_special_token(spelling)) return;
    if (spelling.empty() || find_utf8_prefix(spelling) != spelling.size())
        throw ConfigError(
            cat("a special token must be text in UTF-8, not \"", spelling, "\"; choose another spelling"));
    refuse_ordinary_spelling(vocabulary, spelling);
    vocabulary.specials.push_back(static_cast<std::uint32_t>(vocabulary.tokens.size()));
    vocabulary.tokens.push_back(spelling);
}

}  // namespace

// The vocabulary, and what is derived from it to encode text fast.
class Tokenizer::Tables {
public:
    explicit Tables(Vocabulary vocabulary)
        : vocabulary_(std::move(vocabulary)),
          name_(find_tokenizer_name(vocabulary_)),
          rules_(vocabulary_.merges),
          word_index_(vocabulary_.tokens, find_single_token_words()) {}

    Tables(const Tables&) = delete;  // word_index_ refers to vocabulary_
    Tables& operator=(const Tables&) = delete;

    const Vocabulary& vocabulary() const { return vocabulary_; }
    const std::string& name() const { return name_; }

    void encode(std::string_view text, std::vector<std::uint32_t>& ids) const {
        if (vocabulary_.merges.empty()) {
            append_bytes(text, ids);
        } else {
            splitter_.split(text, [&](std::string_view pretoken) { encode_pretoken(pretoken, ids); });
        }
    }

private:
    // Lists each merged token that is the encoding of its own bytes: applying the merges to a pre-token with
    // these bytes gives the token alone. For other merged tokens, a merge with a lower index joins other
    // neighbours first, and the pre-token becomes several tokens.
    std::vector<std::uint32_t> find_single_token_words() const {
        std::vector<std::uint32_t> found;
        std::vector<std::uint32_t> merged;
        for (const Merge& merge : vocabulary_.merges) {
            merged.clear();
            merge_pretoken(vocabulary_.tokens[merge.result], merged);
            if (merged.size() == 1) found.push_back(merge.result);
        }
        return found;
    }

    void encode_pretoken(std::string_view pretoken, std::vector<std::uint32_t>& ids) const {
        if (const std::optional<std::uint32_t> word = word_index_.find(pretoken)) {
            ids.push_back(*word);
        } else {
            merge_pretoken(pretoken, ids);
        }
    }

    void merge_pretoken(std::string_view pretoken, std::vector<std::uint32_t>& ids) const {
        const std::size_t before = ids.size();
        append_bytes(pretoken, ids);
        ids.resize(before + rules_.apply(std::span(ids).subspan(before)));
    }

    void append_bytes(std::string_view text, std::vector<std::uint32_t>& ids) const {
        for (const char byte : text) ids.push_back(vocabulary_.byte_tokens[static_cast<unsigned char>(byte)]);
    }

    Vocabulary vocabulary_;
    std::string name_;
    MergeRules rules_;
    WordIndex word_index_;
    Splitter splitter_;
};

Tokenizer::Tokenizer(std::shared_ptr<const Tables> tables) : tables_(std::move(tables)) {}

Tokenizer Tokenizer::make_raw_bytes() {
    return Tokenizer(std::make_shared<const Tables>(make_byte_vocabulary()));
}

Tokenizer Tokenizer::read_gpt2(const std::filesystem::path& folder_or_file) {
    return Tokenizer(std::make_shared<const Tables>(read_vocabulary(folder_or_file)));
}

Tokenizer Tokenizer::train(std::span<const std::string> texts, std::size_t vocabulary_size) {
    return Tokenizer(std::make_shared<const Tables>(learn_vocabulary(texts, vocabulary_size)));
}

Tokenizer Tokenizer::from_bytes(std::string_view serialised) {
    return Tokenizer(std::make_shared<const Tables>(parse_tokenizer_json(serialised, "the stored tokenizer")));
}

const std::string& Tokenizer::name() const { return tables_->name(); }

std::string Tokenizer::to_bytes() const { return to_tokenizer_json(tables_->vocabulary()); }

std::string Tokenizer::compute_hash() const { return sha256_hex(to_bytes()); }

std::size_t Tokenizer::vocabulary_size() const { return tables_->vocabulary().tokens.size(); }

std::optional<std::uint32_t> Tokenizer::find_special_token(std::string_view spelling) const {
    return tables_->vocabulary().find_special_token(spelling);
}

std::optional<std::uint32_t> Tokenizer::find_end_token() const { return find_special_token(end_of_text); }

Tokenizer Tokenizer::with_special_tokens(std::span<const std::string> spellings) const {
    Vocabulary vocabulary = tables_->vocabulary();
    for (const std::string& spelling : spellings) add_special_token(vocabulary, spelling);
    return Tokenizer(std::make_shared<const Tables>(std::move(vocabulary)));
}

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text) const {
    std::vector<std::uint32_t> ids;
    encode(text, ids);
    return ids;
}

void Tokenizer::encode(std::string_view text, std::vector<std::uint32_t>& ids) const {
    tables_->encode(text, ids);
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids) const {
    const std::vector<std::string>& tokens = tables_->vocabulary().tokens;
    std::string text;
    for (const std::uint32_t id : ids) {
        if (id >= tokens.size())
            throw ConfigError(cat("token ", id, " is beyond the vocabulary of the tokenizer ", name(),
                                  " (ids 0 to ", tokens.size() - 1,
                                  "); decode it with the tokenizer that produced it"));
        text += tokens[id];
    }
    return text;
}

Tokenizer parse_tokenizer_option(const std::string& option) {
    constexpr std::string_view gpt2_prefix = "gpt2:";
    if (option == "bytes") return Tokenizer::make_raw_bytes();
    if (option.starts_with(gpt2_prefix) && option.size() > gpt2_prefix.size())
        return Tokenizer::read_gpt2(option.substr(gpt2_prefix.size()));
    if (option.ends_with(".json")) return Tokenizer::read_gpt2(option);
    throw ConfigError(cat("--tokenizer ", option,
                          " is not a tokenizer; give bytes, gpt2:DIR (the folder of encoder.json ",
                          "and vocab.bpe), DIR/tokenizer.json or, to prepare a corpus, train:4096"));
}

}  // namespace trireme::data
