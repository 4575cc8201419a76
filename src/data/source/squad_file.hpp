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
    // Reads the whole file. Throws ConfigError if it is not SQuAD.
    explicit SquadFile(InputFile file);

    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return bytes_; }
    std::uint64_t position() const;  // size of the file times the fraction of finished paragraphs
    std::uint64_t unanswerable() const { return unanswerable_; }

private:
    const SquadQuestion* next_question();  // null at the end

    std::string path_;
    SquadDocument document_;
    std::uint64_t bytes_ = 0;
    std::uint64_t size_ = 0;
    std::size_t paragraph_ = 0;  // of the next question
    std::size_t question_ = 0;   // index within its paragraph
    std::uint64_t number_ = 0;   // number of questions seen in the file
    std::uint64_t unanswerable_ = 0;
};

// Copies the question, its context and its answers into the row. An error in them becomes the row's fault.
void take_question(const SquadQuestion& question, const std::string& context, SourceRow& row);

}  // namespace trireme::data
