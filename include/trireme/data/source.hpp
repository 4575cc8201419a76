// Reads the rows for a corpus from a source: JSON lines, plain text, SQuAD, CIFAR-10 or MNIST files (gzipped or
// not), or the synthetic sample, whose rows are generated from a seed.
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

// Formats of an input file.
//   automatic   detected by the name: jsonl for .jsonl and .ndjson, text for .txt and .md, cifar10 for .bin,
//               mnist for names that end in -ubyte. The first bytes of other files decide: squad for one JSON
//               object with a list `data`, jsonl if the file begins with '{' or is named .json, else text
//   jsonl       one JSON object per line
//   text        plain text
//   squad       a JSON object with data[].paragraphs[].context. Each paragraph has qas[] with id, question,
//               answers[].text and answers[].answer_start, which counts Unicode characters
//   cifar10     per image one byte of label and 3 x 32 x 32 pixels
//   mnist       IDX: one file of images, and one of their labels
enum class SourceFormat : std::uint8_t { automatic, jsonl, text, squad, cifar10, mnist };

inline constexpr NamedValue<SourceFormat> source_formats[] = {
    {"auto", SourceFormat::automatic, "detected by name and first bytes"},
    {"jsonl", SourceFormat::jsonl, "one JSON object per line"},
    {"text", SourceFormat::text, "plain text, or rows of token ids"},
    {"squad", SourceFormat::squad, "SQuAD's JSON: questions, contexts, answers"},
    {"cifar10", SourceFormat::cifar10, "CIFAR-10's binary files"},
    {"mnist", SourceFormat::mnist, "MNIST's IDX files"}};

// The unit of plain text that becomes a row.
enum class RowUnit : std::uint8_t { line, paragraph, file };

inline constexpr NamedValue<RowUnit> row_units[] = {
    {"line", RowUnit::line, "each line"},
    {"paragraph", RowUnit::paragraph, "each block of lines between empty lines"},
    {"file", RowUnit::file, "each file"}};

struct SourceConfig {
    // Paths of files. For MNIST, the first file of images belongs to the first file of labels, and so on.
    std::vector<std::string> inputs;
    SourceFormat format = SourceFormat::automatic;
    RowUnit unit = RowUnit::paragraph;
    // "csn" selects the synthetic sample, whose rows have CodeSearchNet's fields; `inputs` must then be empty.
    std::string synthetic;
    std::size_t count = 0;  // number of synthetic rows
    std::uint64_t seed = 0;
};

// Reads rows one after another. Holds one row in memory, or a whole file if the file is one row or is a
// SQuAD file.
class RowReader {
public:
    // Throws ConfigError if an input is missing, is a folder, or has an unsupported format. Also throws
    // ConfigError if inputs differ in the kind of their rows or in the size of their images.
    explicit RowReader(SourceConfig config);
    RowReader(RowReader&&) noexcept;
    RowReader& operator=(RowReader&&) noexcept;
    ~RowReader();

    RowKind kind() const;                          // of all rows: text, question or image
    ImageSize image_size() const;                  // of all images
    std::vector<std::string> class_names() const;  // empty if the format has no names

    // Reads the next row; returns false at the end. Throws ConfigError if a file cannot be read further, for
    // example because it is a damaged gzip file.
    bool next(SourceRow& row);

    std::uint64_t bytes_read() const;  // bytes after decompression
    double fraction_read() const;      // fraction of the bytes on disk or of the synthetic rows, from 0 to 1
    // Returns the number of questions that were skipped because SQuAD marks them as unanswerable.
    std::uint64_t unanswerable_questions() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::data
