// Converts rows of a source to rows of a corpus: texts, questions and contexts become tokens, classes become
// numbers.
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

    // Sets the tokens of `row`: those of the question, followed by those of the context. Also sets
    // row.question. Its answer_first and answer_last are indices in the tokens of `row`: the tokens that
    // contain the first and the last byte of the first answer.
    void encode(const data::SourceQuestion& question, data::CorpusRow& row);

private:
    data::Tokenizer tokenizer_;
    std::vector<std::size_t> bytes_per_token_;  // per token id: bytes of the token's text
    std::string context_;  // context of the last question, which the next question often shares
    std::vector<std::uint32_t> context_tokens_;  // tokens of `context_`
};

// Assigns numbers to the classes of rows. A class that is a whole number keeps its number. Texts, true and
// false are names, which are numbered in the order of their first appearance. All classes of the rows must be
// numbers, or all must be names.
class ClassNumbers {
public:
    // `field` is the name of the source field with the class.
    explicit ClassNumbers(std::string field) : field_(std::move(field)) {}

    // Sets `label` to the class number of the row. Returns an empty text, or the reason why the row has no
    // valid class.
    std::string assign_class(const data::SourceRow& row, std::uint32_t& label);

    const std::vector<std::string>& names() const { return names_; }  // empty if classes are numbers

private:
    // Assign a class that is a number or a name, as assign_class() does.
    std::string accept_number(const std::string& value, std::uint32_t& label);
    std::string accept_name(const std::string& value, std::uint32_t& label);

    std::string field_;
    bool has_numbers_ = false;  // true after the first class that is a number
    std::map<std::string, std::uint32_t> numbers_by_name_;
    std::vector<std::string> names_;  // by class number
};

// The reason why a row cannot be used, and what the user can do about it.
struct RowFault {
    std::string reason;  // empty if the row can be used
    std::string remedy;  // may be empty
};

// Encodes rows of one kind.
class RowEncoder {
public:
    // `kind` is the kind of the rows of the corpus. `tokenizer` is empty for images. `label_field` is the name
    // of the source field with the class of a labelled text.
    RowEncoder(data::RowKind kind, std::optional<data::Tokenizer> tokenizer, const std::string& label_field);

    // Replaces the members of `out` that rows of this kind use. Returns the fault of the row; its reason is
    // empty if the row can be used. A text without tokens is no fault, but a labelled text without tokens gets
    // no class.
    RowFault encode(const data::SourceRow& row, data::CorpusRow& out);

    // Names of the classes of labelled texts; empty if classes are numbers.
    const std::vector<std::string>& class_names() const { return classes_.names(); }

private:
    RowFault encode_text(const data::SourceRow& row, data::CorpusRow& out) const;
    RowFault encode_labelled(const data::SourceRow& row, data::CorpusRow& out);

    data::RowKind kind_;
    std::optional<data::Tokenizer> tokenizer_;
    ClassNumbers classes_;
    std::optional<QuestionEncoder> questions_;
};

}  // namespace trireme::tools
