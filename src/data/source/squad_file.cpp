#include "data/source/squad_file.hpp"

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::uint64_t largest_file = std::uint64_t{2} << 30;  // bytes; SQuAD 2.0 has 42 MB

}  // namespace

SquadFile::SquadFile(InputFile file) : path_(file.path()) {
    file.skip_byte_order_mark();
    document_ = parse_squad(file.rest(largest_file), path_);
    bytes_ = file.bytes_read();
    size_ = file.position();
}

const SquadQuestion* SquadFile::next_question() {
    while (paragraph_ < document_.paragraphs.size()) {
        const auto& questions = document_.paragraphs[paragraph_].questions;
        if (question_ < questions.size()) {
            ++number_;
            return &questions[question_++];
        }
        ++paragraph_;
        question_ = 0;
    }
    return nullptr;
}

bool SquadFile::next(SourceRow& row) {
    const SquadQuestion* question = next_question();
    for (; question != nullptr && question->is_impossible; question = next_question()) ++unanswerable_;
    if (question == nullptr) return false;
    const SquadParagraph& paragraph = document_.paragraphs[paragraph_];
    row = SourceRow{};
    row.place = question->id.empty() ? cat(path_, ", question number ", number_)
                                     : cat(path_, ", question ", question->id);
    row.fields.push_back({.name = "id", .value = question->id, .is_text = true});
    const std::string& title = document_.titles[paragraph.article];
    if (!title.empty()) row.fields.push_back({.name = "title", .value = title, .is_text = true});
    take_question(*question, paragraph.context, row);
    return true;
}

std::uint64_t SquadFile::position() const {
    const std::size_t all = document_.paragraphs.size();
    return all == 0 ? size_ : size_ * paragraph_ / all;
}

}  // namespace trireme::data
