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

// The parameters of a model for which the input has tensors.
struct StoredParameters {
    std::vector<model::ParameterSpec> specs;  // in the order of the model
    checkpoint::LoadReport report;            // missing parameters and unused tensors
};

StoredParameters find_stored_parameters(const checkpoint::StoredModel& stored) {
    StoredParameters parameters;
    const std::vector<model::ParameterSpec> all = list_unique_parameters(build_layers(stored.config()));
    parameters.report = check_parameters(stored, all);
    std::copy_if(all.begin(), all.end(), std::back_inserter(parameters.specs),
                 [&](const model::ParameterSpec& spec) { return stored.has(spec); });
    return parameters;
}

double to_millions(std::uint64_t count) { return 1e-6 * static_cast<double>(count); }

std::uint64_t count_values(const std::vector<model::ParameterSpec>& specs) {
    std::uint64_t values = 0;
    for (const model::ParameterSpec& spec : specs) values += spec.size();
    return values;
}

// Returns the spec of a slice: the rows `rows` of the parameter that `spec` describes.
model::ParameterSpec select_rows(const model::ParameterSpec& spec, layout::Range rows) {
    model::ParameterSpec slice = spec;
    slice.rows = rows.count;
    slice.placements = {{.box = {rows, {0, spec.columns}}}};
    return slice;
}

// Writes the parameters `specs` to a checkpoint in `folder`, and returns the path of the checkpoint. `progress`
// counts millions of parameters.
fs::path import_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                      const fs::path& folder, Progress& progress) {
    std::vector<checkpoint::CheckpointTensor> tensors;
    for (const model::ParameterSpec& spec : specs) {
        // A checkpoint stores f64 or f32, and records the original type for a later export.
        const archive::StoredType original_type = stored.find_original_type(spec);
        const archive::StoredType type =
            original_type == archive::StoredType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
        tensors.push_back(checkpoint::make_checkpoint_tensor(spec, type, original_type));
    }
    const checkpoint::ModelDescription description{
        .config = make_config_text(stored.config(), tensors, stored.config_text()),
        .tokenizer = stored.tokenizer(),
        .generation_config = stored.generation_config()};
    std::vector<std::byte> bytes;
    const auto read_rows = [&](std::size_t index, layout::Range rows) {
        const device::DType dtype =
            tensors[index].type == archive::StoredType::f64 ? device::DType::f64 : device::DType::f32;
        const model::ParameterSpec slice = select_rows(specs[index], rows);
        bytes.resize(slice.size() * byte_size(dtype));
        stored.read(slice, {bytes.data(), dtype, slice.rows, slice.columns, slice.columns});
        progress.advance(to_millions(slice.size()));
        return std::span<const std::byte>(bytes);
    };
    return write_checkpoint(folder, make_checkpoint_state(description, tensors), description, read_rows,
                            archive::ExistingFolder::refuse);
}

// Prints, for example, "  omitted 2 tensors that the model does not have: a, b". In this example `begin` is
// "omitted", and `end` is "that the model does not have". Prints nothing if there are no names.
void print_names(std::ostream& out, const std::vector<std::string>& names, const std::string& begin,
                 const std::string& end) {
    constexpr std::size_t max_names = 5;
    if (names.empty()) return;
    out << "  " << begin << ' ' << format_count(names.size(), "tensor") << ' ' << end << ": ";
    for (std::size_t i = 0; i < std::min(max_names, names.size()); ++i)
        out << (i == 0 ? "" : ", ") << sanitise_line(names[i]);
    out << (names.size() > max_names ? ", ...\n" : "\n");
}

void print_report(std::ostream& out, const checkpoint::LoadReport& report) {
    print_names(out, report.unused_tensors, "omitted", "that the model does not have");
    print_names(out, report.missing_parameters, "the input lacks",
                "of the head, which training initializes at random");
}

std::string describe_size(const std::vector<model::ParameterSpec>& specs) {
    return cat(specs.size(), " tensors, ", format_with_commas(count_values(specs)), " parameters");
}

}  // namespace

void convert(const ConvertConfig& config, std::ostream& out) {
    const checkpoint::StoredModel stored = checkpoint::StoredModel::open(config.input);
    archive::require_empty_folder(config.output);
    if (!stored.is_checkpoint() && config.dtype)
        throw ConfigError(cat("--dtype sets the type of an export, but ", stored.path(),
                              " is imported into a checkpoint, which keeps the values of the weights; ",
                              "remove --dtype"));
    const StoredParameters parameters = find_stored_parameters(stored);
    Progress progress("convert", "million parameters", to_millions(count_values(parameters.specs)),
                      config.quiet);
    std::string outcome;
    if (stored.is_checkpoint()) {
        const ExportFacts facts = export_model(
            stored, parameters.specs,
            {.folder = config.output, .dtype = config.dtype, .shard_bytes = config.shard_bytes}, progress);
        outcome = cat(config.output, " holds ", describe_size(parameters.specs), ", ",
                      format_megabytes(static_cast<double>(facts.bytes)), " as ", facts.types, " in ",
                      facts.files, facts.files == 1 ? " file" : " files");
    } else {
        const fs::path path = import_model(stored, parameters.specs, config.output, progress);
        outcome = cat(path.string(), " holds ", describe_size(parameters.specs));
    }
    progress.finish();
    if (config.quiet) return;
    out << outcome << ", converted from " << stored.path() << '\n';
    print_report(out, parameters.report);
}

}  // namespace trireme::tools
