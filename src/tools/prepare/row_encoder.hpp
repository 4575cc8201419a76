// Encodes rows of a source as rows of a corpus: texts, questions and contexts as tokens, classes as numbers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "trireme/data/corpus_writer.hpp"
#include "trireme/data/source_row.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::tools {

// Encodes a question and its context as tokens.
class QuestionEncoder {
public:
    explicit QuestionEncoder(const data::Tokenizer& tokenizer);

    // Writes the tokens of the question, then those of the context, and the range of tokens
    // that overlaps the answer.
    void encode(const data::SourceQuestion& question, data::CorpusRow& row);

private:
    data::Tokenizer tokenizer_;
    std::vector<std::size_t> bytes_of_;  // per token
    std::string context_;                // context of the last question, which the next one often shares
    std::vector<std::uint32_t> context_tokens_;
};

// Numbers the classes of rows. Whole numbers are class numbers already. Other texts, true and false are
// numbered in the order of their first appearance.
class ClassNumbers {
public:
    explicit ClassNumbers(std::string field) : field_(std::move(field)) {}

    // Sets `label` to the class number of the row. Returns what is wrong with its class, or an empty text.
    std::string take(const data::SourceRow& row, std::uint32_t& label);

    const std::vector<std::string>& names() const { return names_; }  // empty if classes are numbers

private:
    std::string take_number(const std::string& value, std::uint32_t& label);
    std::string take_name(const std::string& value, std::uint32_t& label);

    std::string field_;
    bool has_numbers_ = false;
    std::map<std::string, std::uint32_t> number_of_;
    std::vector<std::string> names_;
};

// The reason why a row cannot be used, and a remedy for the user.
struct RowFault {
    std::string what;  // empty if the row can be used
    std::string remedy;
};

class RowEncoder {
public:
    // `tokenizer` is empty for images. `label` is the field with the class of labelled texts.
    RowEncoder(data::RowKind kind, std::optional<data::Tokenizer> tokenizer, const std::string& label);

    // Replaces the members of `out` that its kind uses. A text may have no tokens at all.
    RowFault encode(const data::SourceRow& row, data::CorpusRow& out);

    const std::vector<std::string>& class_names() const { return classes_.names(); }  // of labelled texts

private:
    RowFault encode_text(const data::SourceRow& row, data::CorpusRow& out) const;
    RowFault encode_labelled(const data::SourceRow& row, data::CorpusRow& out);

    data::RowKind kind_;
    std::optional<data::Tokenizer> tokenizer_;
    ClassNumbers classes_;
    std::optional<QuestionEncoder> questions_;
};

}  // namespace trireme::tools
