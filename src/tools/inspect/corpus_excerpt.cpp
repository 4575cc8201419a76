#include <algorithm>
#include <span>
#include <string_view>

#include "tools/inspect/excerpts.hpp"
#include "tools/prepare/row_tally.hpp"
#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"

namespace trireme::tools {
namespace {

constexpr std::size_t max_excerpt_bytes = 400;  // of each printed text

void print_indented(const std::string& text, std::ostream& out) {
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        out << "    " << std::string_view(text).substr(begin, end - begin) << '\n';
        begin = end + 1;
    }
}

void print_text(const data::Corpus& corpus, std::uint64_t row, std::ostream& out) {
    std::vector<std::uint32_t> tokens;
    // Each token has at least one byte, so the text of max_excerpt_bytes + 1 tokens is always too long.
    // sanitise_for_terminal() then cuts it and marks the cut.
    corpus.read(row, 0, std::min<std::uint64_t>(corpus.row_length(row), max_excerpt_bytes + 1), tokens);
    out << "\n  row " << row;
    if (corpus.info().kind == data::RowKind::labelled_text)
        out << ", of class " << find_class_name(corpus.info(), corpus.label(row)) << ',';
    out << " begins\n\n";
    print_indented(sanitise_for_terminal(corpus.read_tokenizer().decode(tokens), max_excerpt_bytes), out);
}

void print_question(const data::Corpus& corpus, std::uint64_t row, std::ostream& out) {
    const data::Question question = corpus.read_question(row);
    std::vector<std::uint32_t> tokens;
    corpus.read(row, tokens);
    const std::span<const std::uint32_t> all_tokens(tokens);
    const data::Tokenizer tokenizer = corpus.read_tokenizer();
    const auto decode_excerpt = [&](std::size_t begin, std::size_t count) {
        return sanitise_for_terminal(tokenizer.decode(all_tokens.subspan(begin, count)), max_excerpt_bytes);
    };
    out << "\n  row " << row << " has the question\n\n";
    print_indented(decode_excerpt(0, question.context_begin), out);
    out << "\n  on a context that begins\n\n";
    print_indented(decode_excerpt(question.context_begin, tokens.size() - question.context_begin), out);
    out << "\n  with the answer in tokens " << question.answer_first << " to " << question.answer_last
        << " of the row\n\n";
    print_indented(decode_excerpt(question.answer_first, question.answer_last - question.answer_first + 1),
                   out);
    out << "\n  and these accepted answers\n\n";
    for (const std::string& answer : question.answers)
        print_indented(sanitise_for_terminal(answer, max_excerpt_bytes), out);
}

void print_image(const data::Corpus& corpus, std::uint64_t row, std::ostream& out) {
    std::vector<std::uint8_t> pixels;
    corpus.read_image(row, pixels);
    out << "\n  row " << row << ", of class " << find_class_name(corpus.info(), corpus.label(row))
        << ", looks like\n\n";
    for (const std::string& line : draw_sketch(pixels, corpus.info().image)) out << "    " << line << '\n';
}

}  // namespace

void print_excerpt(const data::Corpus& corpus, std::ostream& out) {
    if (corpus.rows() == 0) return;
    const std::uint64_t row = corpus.rows() / 2;  // the first rows of a source are often a licence or a title
    switch (corpus.info().kind) {
        case data::RowKind::text:
        case data::RowKind::labelled_text:
            return print_text(corpus, row, out);
        case data::RowKind::question:
            return print_question(corpus, row, out);
        case data::RowKind::image:
            return print_image(corpus, row, out);
    }
}

}  // namespace trireme::tools
