#include "trireme/tools/inspect.hpp"

#include "tools/corpus_excerpt.hpp"
#include "tools/figures.hpp"
#include "tools/inspect_weights.hpp"
#include "tools/row_tally.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/corpus.hpp"

namespace trireme {
namespace {

void line(std::ostream& out, std::string_view name, const std::string& value) {
    out << "  " << name << std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') << value << '\n';
}

RowTally tally_of(const Corpus& corpus) {
    const RowKind kind = corpus.info().kind;
    RowTally tally;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) {
        if (kind == RowKind::question) {
            tally.add_question(corpus.row_length(row), corpus.question(row).context_begin);
        } else if (kind != RowKind::image) {
            tally.add_tokens(corpus.row_length(row));
        }
        if (kind == RowKind::labelled_text || kind == RowKind::image) tally.add_label(corpus.label(row));
    }
    return tally;
}

void describe_tokens(const CorpusInfo& info, std::ostream& out) {
    line(out, "tokens",
         cat(with_commas(info.tokens), " (", info.vocabulary_size <= 65536 ? 16 : 32, " bits each)"));
    std::string special;
    const auto add = [&special](const char* name, std::optional<std::uint32_t> token) {
        if (token) special += cat(", ", name, ' ', *token);
    };
    add("end token", info.special.end);
    add("[CLS]", info.special.classify);
    add("[SEP]", info.special.separator);
    add("[MASK]", info.special.mask);
    line(out, "tokenizer",
         cat(info.tokenizer_name, ", vocabulary ", with_commas(info.vocabulary_size),
             special.empty() ? ", no special tokens" : special));
    line(out, "", cat("SHA-256 ", info.tokenizer_hash));
}

void describe_rows(const Corpus& corpus, std::ostream& out) {
    const CorpusInfo& info = corpus.info();
    const RowTally tally = tally_of(corpus);
    if (info.kind == RowKind::image) {
        line(out, "rows",
             cat(with_commas(info.rows), ", images of ", info.image.channels, " x ", info.image.height, " x ",
                 info.image.width, " pixels"));
    } else {
        const std::vector<std::string> lengths = tally.length_lines();
        line(out, "rows", lengths.empty() ? "0" : cat(with_commas(info.rows), ", ", lengths.front()));
        for (std::size_t more = 1; more < lengths.size(); ++more) line(out, "", lengths[more]);
    }
    if (const std::string classes = tally.class_line(info); !classes.empty()) line(out, "classes", classes);
    if (info.kind != RowKind::image) describe_tokens(info, out);
}

}  // namespace

void inspect(const std::filesystem::path& path, bool verify, std::ostream& out) {
    if (may_hold_weights(path)) return inspect_weights(path, verify, out);
    const Corpus corpus = Corpus::open(path);
    const CorpusInfo& info = corpus.info();
    out << info.path << " is a Trireme corpus (schema " << info.schema_version << ")\n";
    line(out, "kind", name_of(info.kind));
    describe_rows(corpus, out);
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
