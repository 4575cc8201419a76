#include "app/options/tool_options.hpp"

#include <filesystem>

#include "app/options/choices.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::app {

std::vector<OptionGroup> make_prepare_options(tools::PrepareConfig& config) {
    const auto is_synthetic = [&config] { return !config.synthetic.empty(); };
    const OptionNeed synthetic{"synthetic rows", "--synthetic csn"};
    OptionGroup input{
        "input",
        {
            make_table_option({"format", "", "format of INPUT"}, config.format, data::source_formats),
            make_text_option(
                {"where", "CONDITION", "condition on a field that rows must meet, such as 'repo~apache/spark'"},
                config.row_filter),
            make_text_option({"label", "FIELD",
                              "field of JSON lines that holds the class of a text: a whole number or a name"},
                             config.label),
            make_table_option({"rows", "", "unit of plain text that becomes a row; if unset, paragraph"},
                              config.rows, data::row_units),
            make_switch_option({"skip-bad", "", "skip and count bad rows, instead of ending at the first one"},
                               config.skip_bad),
            make_choice_option({"synthetic", "", "generated rows in place of INPUT"}, config.synthetic,
                               {{"csn", "csn", "functions as in CodeSearchNet"}}),
            make_conditional(make_integer_option({"count", "", "number of generated rows"}, config.count, 1),
                             is_synthetic, synthetic),
            make_conditional(make_integer_option({"seed", "S", "random seed of generated rows"}, config.seed),
                             is_synthetic, synthetic),
        }};
    OptionGroup output{
        "output",
        {
            make_text_option({"output", "FILE.h5", "corpus to write; the file appears when it is complete"},
                             config.output),
            make_text_option({"tokenizer",
                              "NAME",
                              "tokenizer; if unset, bytes",
                              {{"bytes", "one token per byte"},
                               {"gpt2:DIR", "GPT-2's, from vocab.bpe and encoder.json in DIR"},
                               {"FILE", "a Hugging Face tokenizer.json"},
                               {"train:N", "byte-level BPE with N tokens, trained on the input"}}},
                             config.tokenizer),
            make_choice_option({"special-tokens", "", "tokens to add to the tokenizer"}, config.special_tokens,
                               {{"none", "none", "none; with SQuAD, the same as bert"},
                                {"bert", "bert", "[CLS], [SEP] and [MASK]"}}),
            make_text_option({"licence", "TEXT", "licence of the rows, recorded in the corpus"},
                             config.licence),
            make_switch_option({"quiet", "", "print no progress and no summary"}, config.quiet),
        }};
    return {input, output};
}

std::vector<OptionGroup> make_convert_options(tools::ConvertConfig& config) {
    return {{"convert",
             {
                 make_choice_option(
                     {"dtype", "",
                      "data type of exported weights; if unset, the types in which they were imported"},
                     config.dtype,
                     {{"f32", archive::StoredType::f32, "32-bit floating point"},
                      {"bf16", archive::StoredType::bf16, "bfloat16"},
                      {"f16", archive::StoredType::f16, "16-bit floating point"},
                      {"f64", archive::StoredType::f64, "64-bit floating point"}}),
                 make_size_option({"shard-size", "", "maximum size of an exported file"}, config.shard_bytes),
                 make_switch_option({"quiet", "", "print no progress and no summary"}, config.quiet),
             }}};
}

std::vector<OptionGroup> make_inspect_options(InspectConfig& config) {
    return {{"inspect",
             {make_switch_option({"verify", "", "read the whole file and compare every checksum"},
                                 config.verify)}}};
}

std::vector<OptionGroup> make_report_options(ReportConfig& config) {
    return {{"report",
             {make_text_option({"output", "FILE.html", "page to write; if unset, RUN_DIR/report.html"},
                               config.output)}}};
}

std::vector<OptionGroup> make_doctor_options(tools::DoctorConfig& config) {
    return {{"doctor",
             {make_text_option({"scratch", "DIR",
                                "folder whose speed is measured; 64 MB are written to it and then removed"},
                               config.scratch),
              make_switch_option({"json", "", "print one JSON object instead of text"}, config.is_json)}}};
}

void check_doctor_options(const tools::DoctorConfig& config) {
    if (config.scratch.empty()) throw ConfigError("--scratch is an empty name; name a folder");
}

void store_prepare_inputs(tools::PrepareConfig& config, const std::vector<std::string>& inputs) {
    if (inputs.empty() && config.synthetic.empty()) {
        throw ConfigError(
            "no input is given; name files (JSONL, text, ids, SQuAD, CIFAR-10 or MNIST, gzipped or not), or "
            "set --synthetic csn");
    }
    if (!inputs.empty() && !config.synthetic.empty()) {
        throw ConfigError(cat("--synthetic ", config.synthetic, " takes no input, but ",
                              quote_text(inputs.front()), " is given; drop one of them"));
    }
    if (config.output.empty()) throw ConfigError("no output is given; name one with --output FILE.h5");
    config.inputs = inputs;
}

void store_convert_folders(tools::ConvertConfig& config, const std::vector<std::string>& folders) {
    if (folders.size() != 2) {
        throw ConfigError(cat("convert takes an input and an output folder, not ", folders.size(),
                              folders.size() == 1 ? " name" : " names", "; see trireme convert --help"));
    }
    if (folders[0].empty() || folders[1].empty()) {
        throw ConfigError(cat("the ", folders[0].empty() ? "input" : "output",
                              " of convert is an empty name; name a folder"));
    }
    config.input = folders[0];
    config.output = folders[1];
}

void store_inspect_file(InspectConfig& config, const std::vector<std::string>& files) {
    if (files.size() != 1) {
        throw ConfigError(cat("inspect takes one file, not ", files.size(), "; see trireme inspect --help"));
    }
    config.file = files.front();
}

void store_run_directory(ReportConfig& config, const std::vector<std::string>& directories) {
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
