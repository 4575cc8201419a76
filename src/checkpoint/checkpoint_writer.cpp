#include "trireme/checkpoint/checkpoint_writer.hpp"

#include <algorithm>

#include "checkpoint/schema.hpp"
#include "trireme/archive/float_types.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/hdf5_reserved_file.hpp"
#include "trireme/archive/partial_folder.hpp"
#include "trireme/archive/random_digits.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

std::string array_path(const std::string& name) { return cat(parameters_group, '/', name); }

}  // namespace

struct CheckpointWriter::Storage {
    Storage(const fs::path& folder, CheckpointInfo checkpoint_info, Existing existing)
        : info(std::move(checkpoint_info)),
          path(folder / (step_prefix + std::to_string(info.step))),
          partial(path, existing),
          save(random_digits()),
          part(partial.partial_path() / part_file(save, 0)) {}

    std::string config_text() const;
    void close_part();
    void write_model_file() const;

    CheckpointInfo info;
    fs::path path;          // where it goes
    PartialFolder partial;  // destroyed after the files in it
    std::string save;       // two saves of one step never mix: their parts have other names
    hdf5::ReservedFile part;
    std::vector<hdf5::Array> arrays;
};

std::string CheckpointWriter::Storage::config_text() const {
    const bool is_f64 = std::any_of(arrays.begin(), arrays.end(),
                                    [](const hdf5::Array& array) { return array.type == StoredType::f64; });
    return config_json_of(info.config, is_f64 ? "float64" : "float32", info.base_config);
}

void CheckpointWriter::Storage::close_part() {
    hdf5::write_text(part.id(), "format", format);
    hdf5::write_number(part.id(), "schema_version", version);
    hdf5::write_text(part.id(), "save", save);
    hdf5::write_number(part.id(), "part", 0);
    hdf5::write_number(part.id(), "step", info.step);
    hdf5::write_number(part.id(), "tensors", arrays.size());
    hdf5::write_text(part.id(), config_sum, sha256_hex(config_text()));
    hdf5::write_text(part.id(), tokenizer_sum, info.tokenizer.empty() ? "" : sha256_hex(info.tokenizer));
    part.close();
}

void CheckpointWriter::Storage::write_model_file() const {
    hdf5::ReservedFile file(partial.partial_path() / model_file);
    for (const hdf5::Array& array : arrays) {
        file.reserve(0);
        hdf5::create_virtual_array(file.id(), array_path(array.name), array.type, array.shape,
                                   {{.file = part_file(save, 0),
                                     .dataset = array_path(array.name),
                                     .offset = std::vector<std::uint64_t>(array.shape.size(), 0),
                                     .extent = array.shape}});
    }
    file.close();
}

CheckpointWriter::CheckpointWriter(const fs::path& folder, const CheckpointInfo& info, Existing existing)
    : storage_(std::make_unique<Storage>(folder, info, existing)) {}
CheckpointWriter::CheckpointWriter(CheckpointWriter&&) noexcept = default;
CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::add(const ParameterSpec& spec, ConstTensor values, StoredType source) {
    hdf5::Array array;
    array.name = spec.name;
    array.type = values.dtype == DType::f64 ? StoredType::f64 : StoredType::f32;
    array.shape.assign(spec.shape.begin(), spec.shape.end());
    array.source = source;
    if (values.bytes() != array.bytes() || !values.is_contiguous() || !is_float(source))
        throw BugError(cat(spec.name, " was to be saved from ", values.rows, " x ", values.columns, ' ',
                           name_of(values.dtype), " values as ", array.bytes(), " bytes"));
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(values.data), values.bytes());
    Sha256 sum;
    sum.update(bytes);
    storage_->part.reserve(array.bytes());
    hdf5::ArrayWriter writer(storage_->part.id(), array_path(array.name), array);
    writer.write(bytes);
    writer.finish(sum.hex());
    storage_->arrays.push_back(std::move(array));
}

fs::path CheckpointWriter::finish() {
    const fs::path& partial = storage_->partial.partial_path();
    storage_->close_part();
    storage_->write_model_file();
    write_whole_file(partial / config_file, storage_->config_text());
    if (!storage_->info.tokenizer.empty()) write_whole_file(partial / tokenizer_file, storage_->info.tokenizer);
    storage_->partial.keep(config_file);
    const fs::path& path = storage_->path;
    write_whole_file(path.parent_path() / latest_file, path.filename().string() + "\n");
    return path;
}

}  // namespace trireme
