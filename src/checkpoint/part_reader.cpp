#include "checkpoint/part_reader.hpp"

#include <algorithm>
#include <utility>

#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/base/error.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

std::string to_string(const CheckpointState& state, const StateBox& box) {
    return make_array_path(box.field, state.tensors[box.tensor].name, box.box);
}

}  // namespace

PartReader::PartReader(const fs::path& path, const CheckpointState& state, const CheckpointPart& part,
                       const std::string& state_sha256)
    : path_(path), state_(state), file_(archive::hdf5::open_read_only(path, repair_hint)), bytes_(path) {
    const std::string kind = read_text("format");
    if (kind != format) refuse(cat("has the format '", kind, "', not '", format, "'"));
    if (read_number("schema_version") != version)
        refuse(cat("has the checkpoint schema ", read_number("schema_version"), ", not ", version));
    if (read_text(save_attribute) != state.save_id || read_number("part") != part.rank ||
        read_text(state_checksum_attribute) != state_sha256)
        refuse(cat("is from another save than its name and ", state_file, " say"));
    read_updates(part);
    read_checksums();
    bytes_.advise_sequential();
}

void PartReader::refuse(const std::string& fault) const {
    throw ConfigError(cat(path_.string(), ' ', fault, "; ", repair_hint));
}

std::uint64_t PartReader::read_number(const char* name) const {
    const auto value = archive::hdf5::read_number(file_.get(), name);
    if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
    return *value;
}

std::string PartReader::read_text(const char* name) const {
    auto value = archive::hdf5::read_text(file_.get(), name);
    if (!value) refuse(cat("is damaged: its attribute '", name, "' is missing"));
    return std::move(*value);
}

// Parts of older programs have one number of updates for all tensors.
void PartReader::read_updates(const CheckpointPart& part) {
    const std::vector<std::size_t> tensors = list_tensors_with_moments(state_, part);
    std::vector<std::uint64_t> updates(tensors.size(), read_number(updates_attribute));
    if (archive::hdf5::has_array(file_.get(), updates_array)) {
        const archive::hdf5::Array array =
            archive::hdf5::open_array(file_.get(), path_, updates_array, repair_hint);
        if (array.type != archive::StoredType::u64 || array.shape != std::vector<std::uint64_t>{tensors.size()})
            refuse("is damaged: its list of updates has the wrong size or type");
        bytes_.read(array.offset, std::as_writable_bytes(std::span(updates)));
    }
    for (std::size_t t = 0; t < tensors.size(); ++t) updates_[tensors[t]] = updates[t];
}

void PartReader::read_checksums() {
    const archive::hdf5::Array array =
        archive::hdf5::open_array(file_.get(), path_, checksums_array, repair_hint);
    const bool fits =
        array.type == archive::StoredType::u8 && array.shape.size() == 2 && array.shape[1] == checksum_digits;
    if (!fits || array.count_bytes() > bytes_.size())
        refuse("is damaged: its list of checksums has the wrong size or type");
    checksums_.resize(array.count_bytes());
    bytes_.read(array.offset, std::as_writable_bytes(std::span(checksums_)));
}

PartReader::BoxExtent PartReader::find_extent(const StateBox& box) const {
    const CheckpointTensor& tensor = state_.tensors[box.tensor];
    const std::string name = to_string(state_, box);
    const archive::hdf5::Array array = archive::hdf5::open_array(file_.get(), path_, name, repair_hint);
    const auto& [rows, columns] = box.box;
    const std::vector<std::uint64_t> position = archive::hdf5::read_numbers(array.dataset.get(), box_attribute);
    // Index of the first checksum of the box, and rows per checksum.
    const std::vector<std::uint64_t> checksum_numbers =
        archive::hdf5::read_numbers(array.dataset.get(), checksums_attribute);
    const bool fits =
        array.type == tensor.type && array.shape == std::vector<std::uint64_t>{rows.count, columns.count} &&
        position == std::vector<std::uint64_t>{rows.begin, rows.count, columns.begin, columns.count} &&
        checksum_numbers.size() == 2 && checksum_numbers[1] > 0 &&
        checksum_numbers[1] <= std::max<std::size_t>(rows.count, block_bytes);
    if (!fits) refuse(cat("is damaged: the array ", name, " does not match its name and ", state_file));
    const std::uint64_t count = (rows.count + checksum_numbers[1] - 1) / checksum_numbers[1];
    if (count > checksums_.size() / checksum_digits ||
        checksum_numbers[0] > checksums_.size() / checksum_digits - count)
        refuse(cat("is damaged: the checksums of the array ", name, " are missing"));
    return {.offset = array.offset,
            .first_checksum = checksum_numbers[0],
            .block_rows = checksum_numbers[1],
            .row_bytes = columns.count * byte_size(tensor.type)};
}

void PartReader::check_block(const BlockRead& read, const std::string& checksum) const {
    const auto recorded =
        std::string_view(checksums_).substr(read.checksum_index * checksum_digits, checksum_digits);
    if (checksum != recorded)
        refuse(cat("is damaged: the SHA-256 of ", to_string(state_, read.box), ", block ", read.checksum_index,
                   " of the file, is ", checksum, ", but ", recorded, " is recorded"));
}

void PartReader::add_reads(std::vector<BlockRead>& reads, const StateBox& box, const layout::Box& requested_box,
                           const UseRows& use) const {
    const layout::Box overlap = intersect(box.box, requested_box);
    if (overlap.is_empty()) return;
    const BoxExtent extent = find_extent(box);
    // Offset in bytes of the first requested element in a row of the stored box.
    const std::size_t column_offset =
        (overlap.columns.begin - box.box.columns.begin) * byte_size(state_.tensors[box.tensor].type);
    // Here and in the loop, rows count from the first row of the stored box.
    const layout::Range rows{overlap.rows.begin - box.box.rows.begin, overlap.rows.count};
    for (std::size_t b = rows.begin / extent.block_rows; b * extent.block_rows < rows.end(); ++b) {
        const std::size_t first = b * extent.block_rows;
        const std::size_t count = std::min(extent.block_rows, box.box.rows.count - first);
        const layout::Range block_rows = intersect(layout::Range{first, count}, rows);
        reads.push_back(
            {.part = this,
             .offset = extent.offset + first * extent.row_bytes,
             .bytes = count * extent.row_bytes,
             .checksum_index = extent.first_checksum + b,
             .box = box,
             .first = (block_rows.begin - first) * extent.row_bytes + column_offset,
             .stride = extent.row_bytes,
             .requested_box = {{box.box.rows.begin + block_rows.begin, block_rows.count}, overlap.columns},
             .use = &use});
    }
}

CheckpointParts::CheckpointParts(fs::path folder, const CheckpointState& state, std::string state_sha256)
    : folder_(std::move(folder)),
      state_(state),
      state_sha256_(std::move(state_sha256)),
      boxes_(state.tensors.size()),
      parts_(state.parts.size()) {
    for (std::size_t p = 0; p < state.parts.size(); ++p)
        for (const auto& [tensor, box] : state.parts[p].boxes) boxes_[tensor].push_back({p, box});
}

const PartReader& CheckpointParts::open_part(std::size_t number) const {
    const CheckpointPart& checkpoint_part = state_.parts[number];
    if (!parts_[number])
        parts_[number] =
            std::make_unique<PartReader>(folder_ / make_part_file_name(state_.save_id, checkpoint_part.rank),
                                         state_, checkpoint_part, state_sha256_);
    return *parts_[number];
}

template <class Use>
void CheckpointParts::for_each_part(std::size_t tensor, const layout::Box& requested_box, Use&& use) const {
    for (const auto& [number, box] : boxes_[tensor])
        if (!intersect(box, requested_box).is_empty()) use(open_part(number), box);
}

void CheckpointParts::read(const std::vector<ReadRequest>& requests, int threads) const {
    std::vector<BlockRead> reads;
    for (const ReadRequest& request : requests)
        for_each_part(request.tensor, request.box, [&](const PartReader& reader, const layout::Box& box) {
            reader.add_reads(reads, {request.tensor, request.field, box}, request.box, request.use);
        });
    read_blocks(std::move(reads), threads);
}

void CheckpointParts::add_updates(std::set<std::uint64_t>& counts, std::size_t tensor,
                                  const layout::Box& requested_box) const {
    for_each_part(tensor, requested_box, [&](const PartReader& reader, const layout::Box&) {
        counts.insert(reader.find_updates(tensor));
    });
}

void CheckpointParts::verify(const std::function<void(const StoredRows&, archive::StoredType)>& use) const {
    std::vector<ReadRequest> all;
    for (std::size_t field = 0; field <= state_.moments; ++field)
        for (std::size_t t = 0; t < state_.tensors.size(); ++t)
            if (has_field(state_.tensors[t], to_state_field(field)))
                all.push_back({.tensor = t,
                               .field = to_state_field(field),
                               .box = {{0, state_.tensors[t].rows}, {0, state_.tensors[t].columns}},
                               .use = [&use, type = state_.tensors[t].type](const StoredRows& rows) {
                                   use(rows, type);
                               }});
    read(all, 1);
}

}  // namespace trireme::checkpoint
