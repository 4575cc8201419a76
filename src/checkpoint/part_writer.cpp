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

fs::path path_of(const fs::path& folder, const CheckpointState& state, std::size_t part) {
    return folder / part_file(state.save, state.parts[part].number);
}

std::uint64_t bytes_of_all(const CheckpointState& state, const std::vector<StateBox>& boxes) {
    std::uint64_t bytes = 0;
    for (const StateBox& box : boxes) bytes += bytes_of(state, box);
    return bytes;
}

}  // namespace

std::vector<StateBox> boxes_of(const CheckpointState& state, const CheckpointPart& part) {
    std::vector<StateBox> boxes;
    for (std::size_t field = 0; field <= state.moments; ++field)
        for (const auto& [tensor, box] : part.boxes) boxes.push_back({tensor, state_field(field), box});
    return boxes;
}

std::size_t bytes_of(const CheckpointState& state, const StateBox& box) {
    return box.box.size() * bytes_of(state.tensors[box.tensor].type);
}

PartLayout::PartLayout(const CheckpointState& state, std::size_t part)
    : part_(part),
      boxes_(boxes_of(state, state.parts[part])),
      imprint_([&](archive::hdf5::Id file) { fill(file, state); }, boxes_.size() + 1,
               bytes_of_all(state, boxes_)) {}

std::size_t PartLayout::sums_of(std::size_t box) const {
    return (boxes_[box].box.rows.count + places_[box].block_rows - 1) / places_[box].block_rows;
}

// Writes the HDF5 metadata, with placeholders for attributes that differ between saves.
void PartLayout::fill(archive::hdf5::Id file, const CheckpointState& state) {
    archive::hdf5::write_text(file, "format", format);
    archive::hdf5::write_number(file, "schema_version", version);
    archive::hdf5::write_text(file, save_name, std::string(state.save.size(), '0'));
    archive::hdf5::write_number(file, "part", state.parts[part_].number);
    archive::hdf5::write_text(file, state_sum, std::string(sum_digits, '0'));
    archive::hdf5::write_number(file, update_count, 0);
    std::uint64_t sums = 0;
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
        const auto& [tensor, field, box] = boxes_[b];
        const CheckpointTensor& facts = state.tensors[tensor];
        const archive::hdf5::Array array = archive::hdf5::create_array(
            file, array_path(field, facts.name, box), facts.type, {box.rows.count, box.columns.count});
        const std::size_t row_bytes = box.columns.count * bytes_of(facts.type);
        places_.push_back(
            {.offset = array.offset,
             .row_bytes = row_bytes,
             .block_rows = std::max<std::size_t>(1, block_bytes / std::max<std::size_t>(1, row_bytes))});
        archive::hdf5::write_numbers(
            array.dataset.get(), box_attribute,
            std::array<std::uint64_t, 4>{box.rows.begin, box.rows.count, box.columns.begin, box.columns.count});
        archive::hdf5::write_numbers(array.dataset.get(), sums_attribute,
                                     std::array<std::uint64_t, 2>{sums, places_.back().block_rows});
        sums += sums_of(b);
    }
    sums_offset_ =
        archive::hdf5::create_array(file, sums_array, archive::StoredType::u8, {sums, sum_digits}).offset;
}

PartWriter::PartWriter(const fs::path& folder, const CheckpointState& state, const PartLayout& layout,
                       std::uint64_t updates, const BeforeStage& before_stage)
    : state_(state),
      layout_(layout),
      before_(before_stage),
      file_(create(path_of(folder, state, layout.part_), updates)) {}

void PartWriter::before(SaveStage stage) const {
    if (before_) before_(stage);
}

// Creates the file with HDF5, closes it and opens it again without HDF5.
archive::WritableFile PartWriter::create(const fs::path& path, std::uint64_t updates) const {
    before(SaveStage::layout);
    archive::hdf5::ReservedFile file(path, layout_.imprint_);
    archive::hdf5::write_text_again(file.id(), save_name, state_.save);
    archive::hdf5::write_text_again(file.id(), state_sum, sha256_hex(json_of(state_)));
    archive::hdf5::write_number_again(file.id(), update_count, updates);
    file.close();
    return archive::WritableFile(path);
}

void PartWriter::write(const Rows& rows) const {
    before(SaveStage::space);
    file_.reserve(layout_.imprint_.size());
    before(SaveStage::data);
    std::string sums;
    for (std::size_t b = 0; b < layout_.boxes_.size(); ++b) {
        const PartLayout::Extent& place = layout_.places_[b];
        const std::size_t all_rows = layout_.boxes_[b].box.rows.count;
        for (layout::Range block{0, place.block_rows}; block.begin < all_rows;
             block.begin += place.block_rows) {
            block.count = std::min(place.block_rows, all_rows - block.begin);
            const std::span<const std::byte> bytes = rows(b, block);
            Sha256 sum;
            sum.update(bytes);
            sums += sum.hex();
            file_.write(place.offset + block.begin * place.row_bytes, bytes);
        }
    }
    before(SaveStage::sums);
    file_.write(layout_.sums_offset_, std::as_bytes(std::span(sums)));
    before(SaveStage::sync);
    file_.sync();
}

}  // namespace trireme::checkpoint
