#include "trireme/checkpoint/part_writer.hpp"

#include <algorithm>
#include <array>

#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/hdf5_reserved_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

fs::path make_part_path(const fs::path& folder, const CheckpointState& state, std::size_t part) {
    return folder / make_part_file_name(state.save_id, state.parts[part].rank);
}

std::uint64_t count_bytes(const CheckpointState& state, const std::vector<StateBox>& boxes) {
    std::uint64_t bytes = 0;
    for (const StateBox& box : boxes) bytes += byte_size(state, box);
    return bytes;
}

std::vector<std::uint64_t> select_updates(const UpdateCounts& updates,
                                          const std::vector<std::string>& tensors) {
    std::vector<std::uint64_t> selected;
    for (const std::string& tensor : tensors) selected.push_back(updates.at(tensor));
    return selected;
}

}  // namespace

std::vector<StateBox> list_boxes(const CheckpointState& state, const CheckpointPart& part) {
    std::vector<StateBox> boxes;
    for (std::size_t field = 0; field <= state.moments; ++field)
        for (const auto& [tensor, box] : part.boxes)
            if (has_field(state.tensors[tensor], to_state_field(field)))
                boxes.push_back({tensor, to_state_field(field), box});
    return boxes;
}

std::size_t byte_size(const CheckpointState& state, const StateBox& box) {
    return box.box.size() * byte_size(state.tensors[box.tensor].type);
}

// A part has one dataset per box, one with the numbers of updates, and one with all checksums.
PartLayout::PartLayout(const CheckpointState& state, std::size_t part)
    : part_(part),
      boxes_(list_boxes(state, state.parts[part])),
      imprint_([&](archive::hdf5::Id file) { write_metadata(file, state); }, boxes_.size() + 2,
               count_bytes(state, boxes_)) {}

std::size_t PartLayout::count_checksums(std::size_t box) const {
    return (boxes_[box].box.rows.count + extents_[box].block_rows - 1) / extents_[box].block_rows;
}

// Writes the HDF5 metadata, with placeholders for attributes that differ between saves.
void PartLayout::write_metadata(archive::hdf5::Id file, const CheckpointState& state) {
    archive::hdf5::write_text(file, "format", format);
    archive::hdf5::write_number(file, "schema_version", version);
    archive::hdf5::write_text(file, save_attribute, std::string(state.save_id.size(), '0'));
    archive::hdf5::write_number(file, "part", state.parts[part_].rank);
    archive::hdf5::write_text(file, state_checksum_attribute, std::string(checksum_digits, '0'));
    archive::hdf5::write_number(file, updates_attribute, 0);
    for (const std::size_t tensor : list_tensors_with_moments(state, state.parts[part_]))
        tensors_with_moments_.push_back(state.tensors[tensor].name);
    updates_offset_ = archive::hdf5::create_array(file, updates_array, archive::StoredType::u64,
                                                  {tensors_with_moments_.size()})
                          .offset;
    std::uint64_t checksums = 0;  // number of checksums of the boxes so far
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
        const auto& [tensor, field, box] = boxes_[b];
        const CheckpointTensor& checkpoint_tensor = state.tensors[tensor];
        const archive::hdf5::Array array =
            archive::hdf5::create_array(file, make_array_path(field, checkpoint_tensor.name, box),
                                        checkpoint_tensor.type, {box.rows.count, box.columns.count});
        const std::size_t row_bytes = box.columns.count * byte_size(checkpoint_tensor.type);
        extents_.push_back(
            {.offset = array.offset,
             .row_bytes = row_bytes,
             .block_rows = std::max<std::size_t>(1, block_bytes / std::max<std::size_t>(1, row_bytes))});
        archive::hdf5::write_numbers(
            array.dataset.get(), box_attribute,
            std::array<std::uint64_t, 4>{box.rows.begin, box.rows.count, box.columns.begin, box.columns.count});
        archive::hdf5::write_numbers(array.dataset.get(), checksums_attribute,
                                     std::array<std::uint64_t, 2>{checksums, extents_.back().block_rows});
        checksums += count_checksums(b);
    }
    checksums_offset_ = archive::hdf5::create_array(file, checksums_array, archive::StoredType::u8,
                                                    {checksums, checksum_digits})
                            .offset;
}

PartWriter::PartWriter(const fs::path& folder, const CheckpointState& state, const PartLayout& layout,
                       const UpdateCounts& updates, const PhaseObserver& before_phase)
    : state_(state),
      layout_(layout),
      updates_(select_updates(updates, layout.tensors_with_moments_)),
      before_phase_(before_phase),
      file_(create_file(make_part_path(folder, state, layout.part_))) {}

void PartWriter::begin_phase(SavePhase phase) const {
    if (before_phase_) before_phase_(phase);
}

// Copies the imprint to the file, overwrites its attributes with HDF5, and opens the file again without HDF5.
archive::WritableFile PartWriter::create_file(const fs::path& path) const {
    begin_phase(SavePhase::layout);
    archive::hdf5::ReservedFile file(path, layout_.imprint_);
    archive::hdf5::overwrite_text(file.id(), save_attribute, state_.save_id);
    archive::hdf5::overwrite_text(file.id(), state_checksum_attribute, sha256_hex(to_json(state_)));
    archive::hdf5::overwrite_number(file.id(), updates_attribute,
                                    updates_.empty() ? 0 : std::ranges::max(updates_));
    file.close();
    return archive::WritableFile(path);
}

void PartWriter::write(const RowReader& read_rows) const {
    begin_phase(SavePhase::space);
    file_.reserve(layout_.imprint_.size());
    begin_phase(SavePhase::data);
    std::string checksums;
    for (std::size_t b = 0; b < layout_.boxes_.size(); ++b) {
        const PartLayout::Extent& extent = layout_.extents_[b];
        const std::size_t all_rows = layout_.boxes_[b].box.rows.count;
        for (layout::Range block{0, extent.block_rows}; block.begin < all_rows;
             block.begin += extent.block_rows) {
            block.count = std::min(extent.block_rows, all_rows - block.begin);
            const std::span<const std::byte> bytes = read_rows(b, block);
            Sha256 hash;
            hash.update(bytes);
            checksums += hash.hex();
            file_.write(extent.offset + block.begin * extent.row_bytes, bytes);
        }
    }
    begin_phase(SavePhase::sums);
    file_.write(layout_.updates_offset_, std::as_bytes(std::span(updates_)));
    file_.write(layout_.checksums_offset_, std::as_bytes(std::span(checksums)));
    begin_phase(SavePhase::sync);
    file_.sync();
}

}  // namespace trireme::checkpoint
