#include "tools/prepare/prepare_tokenizer.hpp"

#include <array>
#include <charconv>

#include "tools/prepare/wanted_rows.hpp"
#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr std::size_t training_bytes = 64'000'000;  // of text: more adds hours and hardly changes the merges
constexpr std::string_view train_prefix = "train:";

std::size_t trained_size(const std::string& option) {
    const std::string_view digits = std::string_view(option).substr(train_prefix.size());
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw ConfigError(
            cat("--tokenizer '", option, "': '", digits, "' is no vocabulary size; write train:4096"));
    return size;
}

// The texts to learn from, one after another; a context that several questions share is taken once.
class TrainingTexts {
public:
    void add(const SourceRow& row, RowKind kind) {
        if (kind != RowKind::question) return add(row.text());
        if (row.question.context != context_) {
            context_ = row.question.context;
            add(context_);
        }
        add(row.question.text);
    }

    const std::vector<std::string>& texts() const { return texts_; }
    std::size_t bytes() const { return bytes_; }

private:
    void add(std::string_view text) {
        texts_.emplace_back(text);
        bytes_ += text.size();
    }

    std::vector<std::string> texts_;
    std::string context_;
    std::size_t bytes_ = 0;
};

Tokenizer train_tokenizer(const PrepareConfig& config, RowKind kind, PrepareProgress& progress) {
    const std::size_t size = trained_size(config.tokenizer);
    WantedRows rows(config);
    TrainingTexts texts;
    SourceRow row;
    while (texts.bytes() < training_bytes && rows.next(row)) {
        if (row.is_ids)
            throw ConfigError(cat(row.place, " is an id row, from which --tokenizer ", config.tokenizer,
                                  " cannot learn; name the tokenizer that made the ids: gpt2:DIR, say"));
        texts.add(row, kind);
    }
    if (texts.bytes() < training_bytes) rows.check_any();
    progress.say(
        cat("learning ", size, " tokens from ", in_megabytes(static_cast<double>(texts.bytes())), " of text"));
    return Tokenizer::trained(texts.texts(), size);
}

Tokenizer without_specials(const PrepareConfig& config, RowKind kind, PrepareProgress& progress) {
    if (learns_tokenizer(config)) return train_tokenizer(config, kind, progress);
    return tokenizer_from_option(config.tokenizer.empty() ? "bytes" : config.tokenizer);
}

bool wants_bert_tokens(const PrepareConfig& config, RowKind kind) {
    if (config.special_tokens != "none" && config.special_tokens != "bert")
        throw ConfigError(
            cat("--special-tokens '", config.special_tokens, "' is unknown; choose none or bert"));
    return kind == RowKind::question || config.special_tokens == "bert";
}

}  // namespace

bool learns_tokenizer(const PrepareConfig& config) { return config.tokenizer.starts_with(train_prefix); }

Tokenizer choose_tokenizer(const PrepareConfig& config, RowKind kind, PrepareProgress& progress) {
    const bool with_bert_tokens = wants_bert_tokens(config, kind);
    const Tokenizer tokenizer = without_specials(config, kind, progress);
    const std::array<std::string, 3> bert_tokens = {"[CLS]", "[SEP]", "[MASK]"};
    return with_bert_tokens ? tokenizer.with_special_tokens(bert_tokens) : tokenizer;
}

}  // namespace trireme
