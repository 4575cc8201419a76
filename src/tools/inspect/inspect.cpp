#include "tools/inspect/excerpts.hpp"
#include "tools/prepare/row_tally.hpp"
#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/tools/stored_files.hpp"

namespace trireme::tools {
namespace {

RowTally make_tally(const data::Corpus& corpus) {
    const data::RowKind kind = corpus.info().kind;
    RowTally tally;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) {
        if (kind == data::RowKind::question) {
            tally.add_question(corpus.row_length(row), corpus.read_question(row).context_begin);
        } else if (kind != data::RowKind::image) {
            tally.add_tokens(corpus.row_length(row));
        }
        if (kind == data::RowKind::labelled_text || kind == data::RowKind::image)
            tally.add_label(corpus.label(row));
    }
    return tally;
}

void print_token_facts(const data::CorpusInfo& info, std::ostream& out) {
    print_fact(
        out, "tokens",
        cat(format_with_commas(info.tokens), " (", info.vocabulary_size <= 65536 ? 16 : 32, " bits each)"));
    std::string special_tokens;
    const auto add_special_token = [&special_tokens](const char* name, std::optional<std::uint32_t> token) {
        if (token) special_tokens += cat(", ", name, ' ', *token);
    };
    add_special_token("end token", info.special_tokens.end_of_text);
    add_special_token("[CLS]", info.special_tokens.classify);
    add_special_token("[SEP]", info.special_tokens.separator);
    add_special_token("[MASK]", info.special_tokens.mask);
    print_fact(out, "tokenizer",
               cat(info.tokenizer_name, ", vocabulary ", format_with_commas(info.vocabulary_size),
                   special_tokens.empty() ? ", no special tokens" : special_tokens));
    print_fact(out, "", cat("SHA-256 ", info.tokenizer_hash));
}

void print_row_facts(const data::Corpus& corpus, std::ostream& out) {
    const data::CorpusInfo& info = corpus.info();
    const RowTally tally = make_tally(corpus);
    if (info.kind == data::RowKind::image) {
        print_fact(out, "rows",
                   cat(format_with_commas(info.rows), ", images of ", info.image.channels, " x ",
                       info.image.height, " x ", info.image.width, " pixels"));
    } else {
        const std::vector<std::string> length_lines = tally.format_length_lines();
        print_fact(out, "rows",
                   length_lines.empty() ? "0" : cat(format_with_commas(info.rows), ", ", length_lines.front()));
        for (std::size_t line = 1; line < length_lines.size(); ++line) print_fact(out, "", length_lines[line]);
    }
    if (const std::string classes = tally.format_class_line(info); !classes.empty())
        print_fact(out, "classes", classes);
    if (info.kind != data::RowKind::image) print_token_facts(info, out);
}

}  // namespace

void inspect(const std::filesystem::path& path, bool verify, std::ostream& out) {
    if (may_hold_weights(path)) return inspect_weights(path, verify, out);
    if (const auto model = checkpoint::find_model_of_file(path))
        throw ConfigError(cat(path.string(),
                              " is a file of a model; show the complete model with `trireme inspect ",
                              model->string(), "`"));
    const data::Corpus corpus = data::Corpus::open(path);
    const data::CorpusInfo& info = corpus.info();
    out << info.path << " is a Trireme corpus (schema " << info.schema_version << ")\n";
    print_fact(out, "kind", to_string(info.kind));
    print_row_facts(corpus, out);
    print_fact(out, "source", info.source);
    print_fact(out, "filter", info.filter.empty() ? "none" : info.filter);
    print_fact(out, "licence", info.licence);
    print_fact(out, "checksum", info.checksum);
    print_excerpt(corpus, out);
    if (!verify) return;
    corpus.verify();
    out << "\n  verified: every dataset has its recorded SHA-256\n";
}

}  // namespace trireme::tools
