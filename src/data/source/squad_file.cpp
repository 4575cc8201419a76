#include "data/source/squad_file.hpp"

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::uint64_t max_file_bytes = std::uint64_t{2} << 30;  // bytes; SQuAD 2.0 has 42 MB

}  // namespace

SquadFile::SquadFile(InputFile file) : path_(file.path()) {
    file.skip_byte_order_mark();
    document_ = parse_squad(file.read_rest(max_file_bytes), path_);
    bytes_read_ = file.bytes_read();
    file_bytes_ = file.position();
}

const SquadQuestion* SquadFile::next_question() {
    while (paragraph_index_ < document_.paragraphs.size()) {
        const auto& questions = document_.paragraphs[paragraph_index_].questions;
        if (question_index_ < questions.size()) {
            ++question_number_;
            return &questions[question_index_++];
        }
        ++paragraph_index_;
        question_index_ = 0;
    }
    return nullptr;
}

bool SquadFile::next(SourceRow& row) {
    const SquadQuestion* question = next_question();
    for (; question != nullptr && question->is_impossible; question = next_question()) ++unanswerable_count_;
    if (question == nullptr) return false;
    const SquadParagraph& paragraph = document_.paragraphs[paragraph_index_];
    row = SourceRow{};
    row.location = question->id.empty() ? cat(path_, ", question number ", question_number_)
                                        : cat(path_, ", question ", question->id);
    row.fields.push_back({.name = "id", .value = question->id, .is_text = true});
    const std::string& title = document_.titles[paragraph.article];
    if (!title.empty()) row.fields.push_back({.name = "title", .value = title, .is_text = true});
    copy_question(*question, paragraph.context, row);
    return true;
}

std::uint64_t SquadFile::position() const {
    const std::size_t count = document_.paragraphs.size();
    return count == 0 ? file_bytes_ : file_bytes_ * paragraph_index_ / count;
}

}  // namespace trireme::data
