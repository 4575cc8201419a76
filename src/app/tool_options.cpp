#include "app/tool_options.hpp"

#include <filesystem>

#include "app/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/quoted.hpp"

namespace trireme::app {

std::vector<OptionGroup> prepare_options(PrepareConfig& config) {
    const auto is_synthetic = [&config] { return !config.synthetic.empty(); };
    const OptionNeed synthetic{"synthetic rows", "--synthetic csn"};
    OptionGroup input{
        "input",
        {
            choice({"format", "", "what INPUT holds; auto: told by its name and first bytes"}, config.format,
                   {{"auto", "auto"},
                    {"jsonl", "jsonl"},
                    {"text", "text"},
                    {"squad", "squad"},
                    {"cifar10", "cifar10"},
                    {"mnist", "mnist"}}),
            text({"where", "CONDITION", "rows to keep, such as 'repo~apache/spark'"}, config.where),
            text({"label", "FIELD",
                  "of JSON lines: the class of a text; whole numbers, or texts to be numbered"},
                 config.label),
            choice({"rows", "", "what is a row of plain text; paragraph if not given"}, config.rows,
                   {{"line", "line"}, {"paragraph", "paragraph"}, {"file", "file"}}),
            flag({"skip-bad", "", "leave bad rows out and count them; without it, the first one ends the work"},
                 config.skip_bad),
            choice({"synthetic", "", "in place of INPUT: made-up functions, as in CodeSearchNet"},
                   config.synthetic, {{"csn", "csn"}}),
            needing(whole_number({"count", "", "synthetic rows"}, config.count, 1), is_synthetic, synthetic),
            needing(whole_number({"seed", "S", "of synthetic rows"}, config.seed), is_synthetic, synthetic),
        }};
    OptionGroup output{
        "output",
        {
            text({"output", "FILE.h5", "the corpus; it appears when it is whole"}, config.output),
            text({"tokenizer", "NAME",
                  "bytes (if not given) | gpt2:DIR | FILE/tokenizer.json | train:N, N tokens learned"},
                 config.tokenizer),
            choice({"special-tokens", "", "bert: adds [CLS], [SEP] and [MASK], which SQuAD always gets"},
                   config.special_tokens, {{"none", "none"}, {"bert", "bert"}}),
            text({"licence", "TEXT", "of the rows; recorded in the corpus"}, config.licence),
            flag({"quiet", "", "no progress and no summary"}, config.quiet),
        }};
    return {input, output};
}

std::vector<OptionGroup> convert_options(ConvertConfig& config) {
    return {{"convert",
             {
                 choice({"dtype", "", "of the weights of an export; the types they once came in if not given"},
                        config.dtype,
                        {{"f32", StoredType::f32},
                         {"bf16", StoredType::bf16},
                         {"f16", StoredType::f16},
                         {"f64", StoredType::f64}}),
                 size_in_bytes({"shard-size", "", "most in one file of an export"}, config.shard_bytes),
                 flag({"quiet", "", "no summary"}, config.quiet),
             }}};
}

std::vector<OptionGroup> inspect_options(InspectConfig& config) {
    return {{"inspect", {flag({"verify", "", "read all of it and compare every checksum"}, config.verify)}}};
}

std::vector<OptionGroup> report_options(ReportConfig& config) {
    return {{"report",
             {text({"output", "FILE.html", "where the page goes; RUN_DIR/report.html if not given"},
                   config.output)}}};
}

std::vector<OptionGroup> doctor_options(DoctorConfig& config) {
    return {
        {"doctor",
         {text({"scratch", "DIR", "the folder whose speed is measured; 64 MB are written there and removed"},
               config.scratch),
          flag({"json", "", "one JSON object in place of words"}, config.is_json)}}};
}

void check_doctor_options(const DoctorConfig& config) {
    if (config.scratch.empty()) throw ConfigError("--scratch is an empty name; name a folder");
}

void take_prepare_inputs(PrepareConfig& config, const std::vector<std::string>& inputs) {
    if (inputs.empty() && config.synthetic.empty()) {
        throw ConfigError(
            "no input is given; name files (JSONL, text, ids, SQuAD, CIFAR-10 or MNIST, gzipped or not), or "
            "--synthetic csn");
    }
    if (!inputs.empty() && !config.synthetic.empty()) {
        throw ConfigError(cat("--synthetic ", config.synthetic, " takes no input, but ",
                              in_quotes(inputs.front()), " is given; leave out one of them"));
    }
    if (config.output.empty()) throw ConfigError("no output is given; name one with --output FILE.h5");
    config.inputs = inputs;
}

void take_convert_places(ConvertConfig& config, const std::vector<std::string>& places) {
    if (places.size() != 2) {
        throw ConfigError(cat("convert takes an input and an output folder, not ", places.size(),
                              places.size() == 1 ? " name" : " names", "; see trireme convert --help"));
    }
    if (places[0].empty() || places[1].empty()) {
        throw ConfigError(
            cat("the ", places[0].empty() ? "input" : "output", " of convert is an empty name; name a folder"));
    }
    config.input = places[0];
    config.output = places[1];
}

void take_inspect_file(InspectConfig& config, const std::vector<std::string>& files) {
    if (files.size() != 1) {
        throw ConfigError(cat("inspect takes one file, not ", files.size(), "; see trireme inspect --help"));
    }
    config.file = files.front();
}

void take_run_directory(ReportConfig& config, const std::vector<std::string>& directories) {
    if (directories.size() != 1) {
        throw ConfigError(
            cat("report takes one run directory, not ", directories.size(), "; see trireme report --help"));
    }
    config.run_directory = directories.front();
    if (config.output.empty()) {
        config.output = (std::filesystem::path(config.run_directory) / "report.html").string();
    }
}

}  // namespace trireme::app
