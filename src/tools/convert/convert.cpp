#include <algorithm>
#include <filesystem>

#include "tools/convert/export_model.hpp"
#include "tools/printed_text.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/progress.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/checkpoint/write_checkpoint.hpp"
#include "trireme/model/model.hpp"
#include "trireme/tools/stored_files.hpp"

namespace trireme::tools {
namespace fs = std::filesystem;
namespace {

// The parameters of a model for which the input has tensors, and a report on missing and unused tensors.
struct StoredParameters {
    std::vector<model::ParameterSpec> specs;  // stored parameters, in the order of the model
    checkpoint::LoadReport report;
};

StoredParameters find_stored_parameters(const checkpoint::StoredModel& stored) {
    StoredParameters contents;
    const std::vector<model::ParameterSpec> all = list_unique_parameters(build_layers(stored.config()));
    contents.report = check_parameters(stored, all);
    std::copy_if(all.begin(), all.end(), std::back_inserter(contents.specs),
                 [&](const model::ParameterSpec& spec) { return stored.has(spec); });
    return contents;
}

double to_millions(std::uint64_t count) { return 1e-6 * static_cast<double>(count); }

std::uint64_t count_values(const std::vector<model::ParameterSpec>& specs) {
    std::uint64_t values = 0;
    for (const model::ParameterSpec& spec : specs) values += spec.size();
    return values;
}

// Returns the spec of a parameter that consists of a range of rows of `spec`.
model::ParameterSpec select_rows(const model::ParameterSpec& spec, layout::Range rows) {
    model::ParameterSpec row_range = spec;
    row_range.rows = rows.count;
    row_range.placements = {{.box = {rows, {0, spec.columns}}}};
    return row_range;
}

fs::path import_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                      const fs::path& folder, Progress& progress) {
    std::vector<checkpoint::CheckpointTensor> tensors;
    for (const model::ParameterSpec& spec : specs) {
        // A checkpoint stores f64 or f32; `source` is recorded for a later export.
        const archive::StoredType source = stored.find_original_type(spec);
        const archive::StoredType type =
            source == archive::StoredType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
        tensors.push_back(checkpoint::make_checkpoint_tensor(spec, type, source));
    }
    const checkpoint::ModelDescription description{
        .config = make_config_text(stored.config(), tensors, stored.config_text()),
        .tokenizer = stored.tokenizer(),
        .generation_config = stored.generation_config()};
    std::vector<std::byte> bytes;
    const auto read = [&](std::size_t index, layout::Range rows) {
        const device::DType dtype =
            tensors[index].type == archive::StoredType::f64 ? device::DType::f64 : device::DType::f32;
        const model::ParameterSpec row_range = select_rows(specs[index], rows);
        bytes.resize(row_range.size() * byte_size(dtype));
        stored.read(row_range, {bytes.data(), dtype, row_range.rows, row_range.columns, row_range.columns});
        progress.advance(to_millions(row_range.size()));
        return std::span<const std::byte>(bytes);
    };
    return write_checkpoint(folder, make_checkpoint_state(description, tensors), description, read,
                            archive::ExistingFolder::refuse);
}

void print_names(std::ostream& out, const std::vector<std::string>& names, const std::string& explanation) {
    constexpr std::size_t max_names = 5;
    if (names.empty()) return;
    out << "  " << names.size() << (names.size() == 1 ? " tensor " : " tensors ") << explanation << ": ";
    for (std::size_t i = 0; i < std::min(max_names, names.size()); ++i)
        out << (i == 0 ? "" : ", ") << sanitise_line(names[i]);
    out << (names.size() > max_names ? ", ...\n" : "\n");
}

void print_report(std::ostream& out, const checkpoint::LoadReport& report) {
    print_names(out, report.unused_tensors, "of the input that the model does not have, omitted");
    print_names(out, report.missing_parameters,
                "of the head that the input lacks; training starts from random values");
}

std::string describe_size(const std::vector<model::ParameterSpec>& specs) {
    return cat(specs.size(), " tensors, ", format_with_commas(count_values(specs)), " parameters");
}

}  // namespace

void convert(const ConvertConfig& config, std::ostream& out) {
    const checkpoint::StoredModel stored = checkpoint::StoredModel::open(config.input);
    archive::require_empty_folder(config.output);
    if (!stored.is_checkpoint() && config.dtype)
        throw ConfigError(cat("--dtype is of an export, but ", stored.path(), " becomes a checkpoint, whose ",
                              "weights keep their values; leave it out"));
    const StoredParameters contents = find_stored_parameters(stored);
    Progress progress("convert", "million parameters", to_millions(count_values(contents.specs)), config.quiet);
    std::string outcome;
    if (stored.is_checkpoint()) {
        const ExportFacts facts = export_model(
            stored, contents.specs,
            {.folder = config.output, .dtype = config.dtype, .shard_bytes = config.shard_bytes}, progress);
        outcome = cat(config.output, " holds ", describe_size(contents.specs), ", ",
                      format_megabytes(static_cast<double>(facts.bytes)), " as ", facts.types, " in ",
                      facts.files, facts.files == 1 ? " file" : " files");
    } else {
        const fs::path path = import_model(stored, contents.specs, config.output, progress);
        outcome = cat(path.string(), " holds ", describe_size(contents.specs));
    }
    progress.finish();
    if (config.quiet) return;
    out << outcome << ", converted from " << stored.path() << '\n';
    print_report(out, contents.report);
}

}  // namespace trireme::tools
