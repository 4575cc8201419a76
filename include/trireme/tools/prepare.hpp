// `trireme prepare`: converts texts, ids, questions or images to a corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "trireme/data/source.hpp"

namespace trireme::tools {

struct PrepareConfig {
    std::vector<std::string> inputs;  // paths of files
    data::SourceFormat format = data::SourceFormat::automatic;
    std::string output;      // path of the corpus
    std::string row_filter;  // --where: conditions that select rows, see RowFilter; not for images
    std::string label;       // JSON field with the class of a text; if empty, texts have no classes
    // One of bytes | gpt2:DIR | PATH/tokenizer.json | train:N; if empty, bytes. If rows are token ids, this is
    // the tokenizer that made the ids. Not for images.
    std::string tokenizer;
    // none | bert. `bert` adds [CLS], [SEP] and [MASK]. Questions always get these tokens.
    std::string special_tokens = "none";
    std::optional<data::RowUnit> rows;  // unit of plain text that becomes a row; if unset: paragraph
    std::string synthetic;              // "csn": rows are generated instead of read from inputs
    std::size_t count = 700;            // number of generated rows
    std::uint64_t seed = 1;             // seed of generated rows
    bool skip_bad = false;              // skip and count bad rows instead of stopping at the first one
    std::string licence;                // licence of the data as the user states it; recorded in the corpus
    bool quiet = false;                 // no progress and no summary
};

struct PrepareReport {
    std::uint64_t rows = 0;                    // rows written to the corpus
    std::uint64_t tokens = 0;                  // tokens in these rows
    std::uint64_t skipped_rows = 0;            // bad rows that --skip-bad skipped
    std::uint64_t filtered_rows = 0;           // rows that --where excluded
    std::uint64_t empty_rows = 0;              // rows without a single token, which are always skipped
    std::uint64_t unanswerable_questions = 0;  // questions without an answer, which are always skipped
    std::uint64_t moved_answers = 0;           // answers found elsewhere than the file states
    std::vector<std::uint64_t> classes;        // rows per class
    std::uint64_t input_bytes = 0;             // bytes read, after decompression
    double seconds = 0;
    std::uint64_t shortest = 0, p50 = 0, p90 = 0, p99 = 0, longest = 0;  // percentiles of tokens per row
};

// Writes the corpus. The output file appears only when it is complete, and replaces an existing file of the
// same name. Messages and a final summary go to `progress`; a terminal also shows a progress line. Throws
// ConfigError if an input, a row or the output cannot be used, or if no row is written. Also throws ConfigError
// if all rows have the same class, unless the format names the classes. Throws ResourceError if memory or disk
// space does not suffice.
PrepareReport prepare(const PrepareConfig& config, std::ostream& progress);

}  // namespace trireme::tools
