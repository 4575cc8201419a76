#include "tools/prepare/row_encoder.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

std::vector<std::size_t> token_bytes(const data::Tokenizer& tokenizer) {
    std::vector<std::size_t> bytes;
    bytes.reserve(tokenizer.vocabulary_size());
    for (std::uint32_t token = 0; token < tokenizer.vocabulary_size(); ++token)
        bytes.push_back(tokenizer.decode(std::span(&token, 1)).size());
    return bytes;
}

constexpr std::uint32_t most_classes = 65'536;  // each class costs a row of the model's head

bool is_name(const data::SourceRow::Field& field) {
    return field.is_text || field.value == "true" || field.value == "false";
}

}  // namespace

QuestionEncoder::QuestionEncoder(const data::Tokenizer& tokenizer)
    : tokenizer_(tokenizer), bytes_of_(token_bytes(tokenizer)) {}

void QuestionEncoder::encode(const data::SourceQuestion& question, data::CorpusRow& row) {
    if (question.context != context_) {
        context_ = question.context;
        context_tokens_ = tokenizer_.encode(context_);
    }
    row.tokens.clear();
    tokenizer_.encode(question.text, row.tokens);
    const auto begin = static_cast<std::uint32_t>(row.tokens.size());
    row.tokens.insert(row.tokens.end(), context_tokens_.begin(), context_tokens_.end());
    row.question.context_begin = begin;
    row.question.answers = question.answers;
    std::size_t byte = 0;
    for (std::size_t token = 0; token < context_tokens_.size() && byte < question.answer_end; ++token) {
        const auto place = begin + static_cast<std::uint32_t>(token);
        if (byte <= question.answer_begin) row.question.answer_first = place;
        row.question.answer_last = place;
        byte += bytes_of_[context_tokens_[token]];
    }
    if (byte < question.answer_end) throw BugError("an answer beyond the tokens of its context");
}

std::string ClassNumbers::take(const data::SourceRow& row, std::uint32_t& label) {
    const data::SourceRow::Field* field = row.find(field_);
    if (field == nullptr) {
        const char* why = row.fields.empty() ? ": it has no fields at all" : "";
        return cat("the row has no number, text or truth value '", field_, "' to be its class", why);
    }
    if (field->value.empty()) return cat("its class, '", field_, "', is empty");
    return is_name(*field) ? take_name(field->value, label) : take_number(field->value, label);
}

std::string ClassNumbers::take_number(const std::string& value, std::uint32_t& label) {
    if (!names_.empty())
        return cat("its class, '", field_, "', is the number ", value, ", but those before were texts, as '",
                   names_.front(), "'");
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), label);
    if (error != std::errc() || end != value.data() + value.size() || label >= most_classes)
        return cat("its class, '", field_, "', is ", value, "; classes are whole numbers from 0 to ",
                   most_classes - 1, ", or texts");
    has_numbers_ = true;
    return {};
}

std::string ClassNumbers::take_name(const std::string& value, std::uint32_t& label) {
    if (has_numbers_)
        return cat("its class, '", field_, "', is the text '", value, "', but those before were numbers");
    const auto [known, is_new] = number_of_.try_emplace(value, static_cast<std::uint32_t>(names_.size()));
    if (is_new && names_.size() == most_classes) {
        number_of_.erase(known);
        return cat("its class, '", value, "', is one more than the ", most_classes, " that are kept");
    }
    if (is_new) names_.push_back(value);
    label = known->second;
    return {};
}

RowEncoder::RowEncoder(data::RowKind kind, std::optional<data::Tokenizer> tokenizer, const std::string& label)
    : kind_(kind), tokenizer_(std::move(tokenizer)), classes_(label) {
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
    throw BugError("a kind of rows without an encoder");
}

RowFault RowEncoder::encode_text(const data::SourceRow& row, data::CorpusRow& out) const {
    out.tokens.clear();
    if (!row.is_ids) {
        tokenizer_->encode(row.text(), out.tokens);
        return {};
    }
    const auto beyond = std::find_if(row.ids.begin(), row.ids.end(),
                                     [this](std::uint32_t id) { return id >= tokenizer_->vocabulary_size(); });
    if (beyond != row.ids.end())
        return {.what = cat("id ", *beyond, " is beyond the vocabulary of ", tokenizer_->vocabulary_size(),
                            " (tokenizer ", tokenizer_->name(), ")"),
                .remedy = "name the tokenizer that made the ids (--tokenizer gpt2:DIR, say)"};
    out.tokens = row.ids;
    return {};
}

RowFault RowEncoder::encode_labelled(const data::SourceRow& row, data::CorpusRow& out) {
    RowFault fault = encode_text(row, out);
    if (!fault.what.empty() || out.tokens.empty()) return fault;  // a row left out adds no class
    return {.what = classes_.take(row, out.label), .remedy = "repair the row, name another field with --label"};
}

}  // namespace trireme::tools
