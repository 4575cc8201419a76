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

// Parameters of a model that a file stores, and a report on the others.
struct Contents {
    std::vector<model::ParameterSpec> specs;  // the stored ones
    checkpoint::LoadReport report;
};

Contents contents_of(const checkpoint::StoredModel& stored) {
    Contents contents;
    const std::vector<model::ParameterSpec> all = unique_parameters(build_layers(stored.config()));
    contents.report = check_fit(stored, all);
    std::copy_if(all.begin(), all.end(), std::back_inserter(contents.specs),
                 [&](const model::ParameterSpec& spec) { return stored.has(spec); });
    return contents;
}

double millions(std::uint64_t count) { return 1e-6 * static_cast<double>(count); }

std::uint64_t count_values(const std::vector<model::ParameterSpec>& specs) {
    std::uint64_t values = 0;
    for (const model::ParameterSpec& spec : specs) values += spec.size();
    return values;
}

// Returns a range of rows of a parameter as a parameter of its own.
model::ParameterSpec rows_of(const model::ParameterSpec& spec, layout::Range rows) {
    model::ParameterSpec part = spec;
    part.rows = rows.count;
    part.placements = {{.box = {rows, {0, spec.columns}}}};
    return part;
}

fs::path import_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                      const fs::path& folder, Progress& progress) {
    std::vector<checkpoint::CheckpointTensor> tensors;
    for (const model::ParameterSpec& spec : specs) {
        const archive::StoredType source = stored.type_of(spec);
        const archive::StoredType type =
            source == archive::StoredType::f64 ? archive::StoredType::f64 : archive::StoredType::f32;
        tensors.push_back(checkpoint::checkpoint_tensor(spec, type, source));
    }
    const checkpoint::ModelDescription description{
        .config = config_text_of(stored.config(), tensors, stored.config_text()),
        .tokenizer = stored.tokenizer(),
        .generation = stored.generation()};
    std::vector<std::byte> bytes;
    const auto read = [&](std::size_t number, layout::Range rows) {
        const device::DType dtype =
            tensors[number].type == archive::StoredType::f64 ? device::DType::f64 : device::DType::f32;
        const model::ParameterSpec part = rows_of(specs[number], rows);
        bytes.resize(part.size() * bytes_of(dtype));
        stored.read(part, {bytes.data(), dtype, part.rows, part.columns, part.columns});
        progress.advance(millions(part.size()));
        return std::span<const std::byte>(bytes);
    };
    return write_checkpoint(folder, state_of(description, tensors), description, read,
                            archive::Existing::refused);
}

void print_names(std::ostream& out, const std::vector<std::string>& names, const std::string& what) {
    constexpr std::size_t most = 5;
    if (names.empty()) return;
    out << "  " << names.size() << (names.size() == 1 ? " tensor " : " tensors ") << what << ": ";
    for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
        out << (i == 0 ? "" : ", ") << line_for_terminal(names[i]);
    out << (names.size() > most ? ", ...\n" : "\n");
}

void print_report(std::ostream& out, const checkpoint::LoadReport& report) {
    print_names(out, report.unused, "of the input that the model has no place for, left out");
    print_names(out, report.missing, "of the head that the input lacks; training starts them afresh");
}

std::string sum_of(const std::vector<model::ParameterSpec>& specs) {
    return cat(specs.size(), " tensors, ", with_commas(count_values(specs)), " parameters");
}

}  // namespace

void convert(const ConvertConfig& config, std::ostream& out) {
    const checkpoint::StoredModel stored = checkpoint::StoredModel::open(config.input);
    archive::refuse_unless_empty(config.output);
    if (!stored.is_checkpoint() && config.dtype)
        throw ConfigError(cat("--dtype is of an export, but ", stored.place(), " becomes a checkpoint, whose ",
                              "weights keep their values; leave it out"));
    const Contents contents = contents_of(stored);
    Progress progress("convert", "million parameters", millions(count_values(contents.specs)), config.quiet);
    std::string made;
    if (stored.is_checkpoint()) {
        const ExportFacts facts = export_model(
            stored, contents.specs,
            {.folder = config.output, .dtype = config.dtype, .shard_bytes = config.shard_bytes}, progress);
        made = cat(config.output, " holds ", sum_of(contents.specs), ", ",
                   in_megabytes(static_cast<double>(facts.bytes)), " as ", facts.types, " in ", facts.files,
                   facts.files == 1 ? " file" : " files");
    } else {
        const fs::path path = import_model(stored, contents.specs, config.output, progress);
        made = cat(path.string(), " holds ", sum_of(contents.specs));
    }
    progress.finish();
    if (config.quiet) return;
    out << made << ", converted from " << stored.place() << '\n';
    print_report(out, contents.report);
}

}  // namespace trireme::tools
