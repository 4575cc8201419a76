#include "tools/prepare/row_encoder.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme {

RowEncoder::RowEncoder(RowKind kind, std::optional<Tokenizer> tokenizer, const std::string& label)
    : kind_(kind), tokenizer_(std::move(tokenizer)), classes_(label) {
    if (kind == RowKind::question) questions_.emplace(tokenizer_.value());
}

RowFault RowEncoder::encode(const SourceRow& row, CorpusRow& out) {
    switch (kind_) {
        case RowKind::text:
            return encode_text(row, out);
        case RowKind::labelled_text:
            return encode_labelled(row, out);
        case RowKind::question:
            questions_->encode(row.question, out);
            return {};
        case RowKind::image:
            out.pixels = row.image.pixels;
            out.label = row.image.label;
            return {};
    }
    throw BugError("a kind of rows without an encoder");
}

RowFault RowEncoder::encode_text(const SourceRow& row, CorpusRow& out) const {
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

RowFault RowEncoder::encode_labelled(const SourceRow& row, CorpusRow& out) {
    RowFault fault = encode_text(row, out);
    if (!fault.what.empty() || out.tokens.empty()) return fault;  // a row left out is no member of a class
    return {.what = classes_.take(row, out.label), .remedy = "repair the row, name another field with --label"};
}

}  // namespace trireme
