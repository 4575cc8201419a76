#include "tools/prepare/row_encoder.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

// Returns, per token of the vocabulary, the bytes of its text.
std::vector<std::size_t> count_token_bytes(const data::Tokenizer& tokenizer) {
    std::vector<std::size_t> bytes;
    bytes.reserve(tokenizer.vocabulary_size());
    for (std::uint32_t token = 0; token < tokenizer.vocabulary_size(); ++token)
        bytes.push_back(tokenizer.decode(std::span(&token, 1)).size());
    return bytes;
}

constexpr std::uint32_t max_classes = 65'536;  // limits the head of the model, which has a row per class

// Returns true if the field's value is the name of a class, and false if the value is the number of a class.
bool is_class_name(const data::SourceRow::Field& field) {
    return field.is_text || field.value == "true" || field.value == "false";
}

}  // namespace

QuestionEncoder::QuestionEncoder(const data::Tokenizer& tokenizer)
    : tokenizer_(tokenizer), bytes_per_token_(count_token_bytes(tokenizer)) {}

void QuestionEncoder::encode(const data::SourceQuestion& question, data::CorpusRow& row) {
    if (question.context != context_) {
        context_ = question.context;
        context_tokens_ = tokenizer_.encode(context_);
    }
    row.tokens.clear();
    tokenizer_.encode(question.text, row.tokens);
    const auto context_begin = static_cast<std::uint32_t>(row.tokens.size());
    row.tokens.insert(row.tokens.end(), context_tokens_.begin(), context_tokens_.end());
    row.question.context_begin = context_begin;
    row.question.answers = question.answers;
    std::size_t token_begin = 0;  // first byte of the token's text in the context
    for (std::size_t token = 0; token < context_tokens_.size() && token_begin < question.answer_end; ++token) {
        const auto position = context_begin + static_cast<std::uint32_t>(token);
        if (token_begin <= question.answer_begin) row.question.answer_first = position;
        row.question.answer_last = position;
        token_begin += bytes_per_token_[context_tokens_[token]];
    }
    if (token_begin < question.answer_end)
        throw BugError("the answer of a question ends after the tokens of its context");
}

std::string ClassNumbers::assign_class(const data::SourceRow& row, std::uint32_t& label) {
    const data::SourceRow::Field* field = row.find(field_);
    if (field == nullptr) {
        const char* explanation = row.fields.empty() ? "; the row has no fields at all" : "";
        return cat("the row has no field '", field_, "' with a number, a text, true or false as the class",
                   explanation);
    }
    if (field->value.empty()) return cat("the class in field '", field_, "' is empty");
    return is_class_name(*field) ? accept_name(field->value, label) : accept_number(field->value, label);
}

std::string ClassNumbers::accept_number(const std::string& value, std::uint32_t& label) {
    if (!names_.empty())
        return cat("the class in field '", field_, "' is the number ", value,
                   ", but earlier rows have texts such as '", names_.front(), "'");
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), label);
    if (error != std::errc() || end != value.data() + value.size() || label >= max_classes)
        return cat("the class in field '", field_, "' is ", value, "; classes are whole numbers from 0 to ",
                   max_classes - 1, ", or texts");
    has_numbers_ = true;
    return {};
}

std::string ClassNumbers::accept_name(const std::string& value, std::uint32_t& label) {
    if (has_numbers_)
        return cat("the class in field '", field_, "' is the text '", value,
                   "', but earlier rows have numbers");
    const auto [entry, is_new] = numbers_by_name_.try_emplace(value, static_cast<std::uint32_t>(names_.size()));
    if (is_new && names_.size() == max_classes) {
        numbers_by_name_.erase(entry);
        return cat("the class '", value, "' is one too many; a corpus has at most ", max_classes, " classes");
    }
    if (is_new) names_.push_back(value);
    label = entry->second;
    return {};
}

RowEncoder::RowEncoder(data::RowKind kind, std::optional<data::Tokenizer> tokenizer,
                       const std::string& label_field)
    : kind_(kind), tokenizer_(std::move(tokenizer)), classes_(label_field) {
    if (kind == data::RowKind::question) questions_.emplace(tokenizer_.value());
}

RowFault RowEncoder::encode(const data::SourceRow& row, data::CorpusRow& out) {
    switch (kind_) {
        case data::RowKind::text:
            return encode_text(row, out);
        case data::RowKind::labelled_text:
            return encode_labelled(row, out);
        case data::RowKind::question:
            questions_->encode(row.question, out);
            return {};
        case data::RowKind::image:
            out.pixels = row.image.pixels;
            out.label = row.image.label;
            return {};
    }
    throw BugError("no encoder exists for this kind of rows");
}

RowFault RowEncoder::encode_text(const data::SourceRow& row, data::CorpusRow& out) const {
    out.tokens.clear();
    if (!row.has_ids) {
        tokenizer_->encode(row.text(), out.tokens);
        return {};
    }
    const auto invalid_id = std::find_if(row.token_ids.begin(), row.token_ids.end(), [this](std::uint32_t id) {
        return id >= tokenizer_->vocabulary_size();
    });
    if (invalid_id != row.token_ids.end())
        return {.reason = cat("token id ", *invalid_id, " is beyond the vocabulary of ",
                              tokenizer_->vocabulary_size(), " tokens (tokenizer ", tokenizer_->name(), ")"),
                .remedy = "name the tokenizer that made the ids (for example --tokenizer gpt2:DIR)"};
    out.tokens = row.token_ids;
    return {};
}

RowFault RowEncoder::encode_labelled(const data::SourceRow& row, data::CorpusRow& out) {
    RowFault fault = encode_text(row, out);
    if (!fault.reason.empty() || out.tokens.empty()) return fault;  // a bad or empty row adds no class
    return {.reason = classes_.assign_class(row, out.label),
            .remedy = "repair the row, name another field with --label"};
}

}  // namespace trireme::tools
