// From rows of a source to rows of a corpus.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/prepare/class_numbers.hpp"
#include "tools/prepare/question_encoder.hpp"
#include "trireme/data/corpus_writer.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme {

// Why a row cannot be used, and what a user can do.
struct RowFault {
    std::string what;  // empty: it can be used
    std::string remedy;
};

class RowEncoder {
public:
    // `tokenizer`: none for images. `label`: the field of labelled texts.
    RowEncoder(RowKind kind, std::optional<Tokenizer> tokenizer, const std::string& label);

    // Replaces what `out` holds of its kind. A text may become no tokens at all.
    RowFault encode(const SourceRow& row, CorpusRow& out);

    const std::vector<std::string>& class_names() const { return classes_.names(); }  // of labelled texts

private:
    RowFault encode_text(const SourceRow& row, CorpusRow& out) const;
    RowFault encode_labelled(const SourceRow& row, CorpusRow& out);

    RowKind kind_;
    std::optional<Tokenizer> tokenizer_;
    ClassNumbers classes_;
    std::optional<QuestionEncoder> questions_;
};

}  // namespace trireme
