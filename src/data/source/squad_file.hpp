// Reads the answerable questions of a SQuAD file, row by row.
#pragma once

#include <cstdint>
#include <string>

#include "data/source/input_file.hpp"
#include "data/source/squad_document.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {

class SquadFile {
public:
    // Reads the whole file. Throws ConfigError if the file is not SQuAD.
    explicit SquadFile(InputFile file);

    // Reads the next answerable question; returns false at the end.
    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return bytes_read_; }
    std::uint64_t position() const;  // file_bytes_ times the fraction of finished paragraphs
    std::uint64_t unanswerable_questions() const { return unanswerable_count_; }

private:
    const SquadQuestion* next_question();  // null at the end

    std::string path_;
    SquadDocument document_;
    std::uint64_t bytes_read_ = 0;       // after decompression
    std::uint64_t file_bytes_ = 0;       // bytes of the file itself
    std::size_t paragraph_index_ = 0;    // paragraph of the question that next_question() returned last
    std::size_t question_index_ = 0;     // index in that paragraph, one past the returned question
    std::uint64_t question_number_ = 0;  // questions that next_question() has returned so far
    std::uint64_t unanswerable_count_ = 0;
};

// Copies the question, its context and its answers into the row. Sets `row.fault` if the question
// cannot be used.
void copy_question(const SquadQuestion& question, const std::string& context, SourceRow& row);

}  // namespace trireme::data
