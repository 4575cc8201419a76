// Where the rows of a corpus come from: JSON lines, plain text, SQuAD's questions, CIFAR-10's and MNIST's
// images (each gzipped or not), or the synthetic sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trireme/base/named_values.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {

// What a file holds.
//   automatic   told by each file's name and first bytes: .jsonl and .ndjson hold JSON lines, .txt and .md
//   text,
//               .bin CIFAR-10, names that end in -ubyte MNIST; other files hold SQuAD if they are one JSON
//               object with a list `data`, JSON lines if they begin with '{' or are named .json, text otherwise
//   jsonl       a JSON object a line
//   text        plain text
//   squad       data[].paragraphs[]: context, qas[]: id, question, answers[]: text, answer_start (counted in
//               Unicode characters)
//   cifar10     a label byte, 3 x 32 x 32 pixels, and so on
//   mnist       IDX: a file of images, and one of their labels
enum class SourceFormat : std::uint8_t { automatic, jsonl, text, squad, cifar10, mnist };

inline constexpr NamedValue<SourceFormat> source_formats[] = {
    {"auto", SourceFormat::automatic, "detected by name and first bytes"},
    {"jsonl", SourceFormat::jsonl, "one JSON object per line"},
    {"text", SourceFormat::text, "plain text, or rows of token ids"},
    {"squad", SourceFormat::squad, "SQuAD's JSON: questions, contexts, answers"},
    {"cifar10", SourceFormat::cifar10, "CIFAR-10's binary files"},
    {"mnist", SourceFormat::mnist, "MNIST's IDX files"}};

// What becomes a row of plain text.
enum class RowUnit : std::uint8_t { line, paragraph, file };

inline constexpr NamedValue<RowUnit> row_units[] = {
    {"line", RowUnit::line, "each line"},
    {"paragraph", RowUnit::paragraph, "each block of lines between empty lines"},
    {"file", RowUnit::file, "each file"}};

struct SourceConfig {
    std::vector<std::string> inputs;  // of MNIST: files of images and of labels, paired in their order
    SourceFormat format = SourceFormat::automatic;
    RowUnit unit = RowUnit::paragraph;
    std::string synthetic;  // "csn": the synthetic sample instead of inputs
    std::size_t count = 0;  // its rows
    std::uint64_t seed = 0;
};

// Reads one row after another and holds no more than one (but a whole file where that is the row, or SQuAD).
class RowReader {
public:
    // Throws ConfigError, before any row is read, where an input is missing, a folder, of a form that is not
    // read, where inputs hold different kinds of rows, or images of different sizes.
    explicit RowReader(SourceConfig config);
    RowReader(RowReader&&) noexcept;
    RowReader& operator=(RowReader&&) noexcept;
    ~RowReader();

    RowKind kind() const;                          // of all rows: text, question or image
    ImageSize image_size() const;                  // of all images
    std::vector<std::string> class_names() const;  // where the format has names for them

    // False at the end. Throws ConfigError where a file cannot be read on: a damaged gzip file, say.
    bool next(SourceRow& row);

    std::uint64_t bytes_read() const;    // after unpacking
    double share_done() const;           // of all inputs, 0 to 1
    std::uint64_t unanswerable() const;  // questions passed over because SQuAD says they have no answer

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::data
