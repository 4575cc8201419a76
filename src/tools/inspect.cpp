#include "trireme/tools/inspect.hpp"

#include <algorithm>

#include "tools/figures.hpp"
#include "tools/row_lengths.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/corpus.hpp"

namespace trireme {
namespace {

constexpr std::size_t excerpt_bytes = 400;

void line(std::ostream& out, std::string_view name, const std::string& value) {
    out << "  " << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') << value << '\n';
}

std::string describe_lengths(const Corpus& corpus) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) lengths.push_back(corpus.row_length(row));
    const RowLengths summary = summarise(std::move(lengths));
    return cat("tokens a row: min ", with_commas(summary.shortest), ", p50 ", with_commas(summary.p50),
               ", p90 ", with_commas(summary.p90), ", p99 ", with_commas(summary.p99), ", max ",
               with_commas(summary.longest));
}

// Whole UTF-8 characters only; signs that would disturb a terminal become dots.
std::string printable(std::string text, std::size_t limit) {
    if (text.size() > limit) {
        std::size_t end = limit;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
        text = text.substr(0, end) + " ...";
    }
    for (char& c : text)
        if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7F) c = '.';
    return text;
}

void print_excerpt(const Corpus& corpus, std::ostream& out) {
    if (corpus.rows() == 0) return;
    const std::uint64_t row = corpus.rows() / 2;  // the first rows of a source are often a licence or a title
    std::vector<std::uint32_t> tokens;
    corpus.read(row, tokens);
    tokens.resize(
        std::min(tokens.size(), excerpt_bytes + 1));  // a token is a byte at least; one shows there is more
    out << "\n  row " << row << " begins\n\n";
    const std::string text = printable(corpus.tokenizer().decode(tokens), excerpt_bytes);
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        out << "    " << text.substr(begin, end - begin) << '\n';
        begin = end + 1;
    }
}

}  // namespace

void inspect(const std::filesystem::path& path, bool verify, std::ostream& out) {
    const Corpus corpus = Corpus::open(path);
    const CorpusInfo& info = corpus.info();
    out << info.path << " is a Trireme corpus (schema " << info.schema_version << ")\n";
    line(out, "rows", cat(with_commas(info.rows), ", ", describe_lengths(corpus)));
    line(out, "tokens",
         cat(with_commas(info.tokens), " (", info.vocabulary_size <= 65536 ? 16 : 32, " bits each)"));
    line(out, "tokenizer",
         cat(info.tokenizer_name, ", vocabulary ", with_commas(info.vocabulary_size), ", ",
             info.end_token ? cat("end token ", *info.end_token) : "no end token"));
    line(out, "", cat("SHA-256 ", info.tokenizer_hash));
    line(out, "source", info.source);
    line(out, "filter", info.filter.empty() ? "none" : info.filter);
    line(out, "licence", info.licence);
    line(out, "checksum", info.checksum);
    print_excerpt(corpus, out);
    if (!verify) return;
    corpus.verify();
    out << "\n  verified: every dataset has its recorded SHA-256\n";
}

}  // namespace trireme
