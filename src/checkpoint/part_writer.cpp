#include "trireme/checkpoint/part_writer.hpp"

#include <algorithm>
#include <array>

#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_array.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/hdf5_reserved_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"

namespace trireme {
namespace fs = std::filesystem;
using namespace checkpoint_schema;

namespace {

fs::path path_of(const fs::path& folder, const CheckpointState& state, std::size_t part) {
    return folder / part_file(state.save, state.parts[part].number);
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

// The file is opened again when HDF5 is through with it.
PartWriter::PartWriter(const fs::path& folder, const CheckpointState& state, std::size_t part,
                       std::uint64_t updates, const BeforeStage& before_stage)
    : state_(state),
      before_(before_stage),
      boxes_(boxes_of(state, state.parts[part])),
      bytes_(lay_out(path_of(folder, state, part), part, updates)),
      file_(path_of(folder, state, part)) {}

void PartWriter::before(SaveStage stage) const {
    if (before_) before_(stage);
}

PartWriter::Place PartWriter::place_of(const StateBox& box) const {
    Place place;
    place.row_bytes = box.box.columns.count * bytes_of(state_.tensors[box.tensor].type);
    place.block_rows = std::max<std::size_t>(1, block_bytes / std::max<std::size_t>(1, place.row_bytes));
    return place;
}

std::size_t PartWriter::sums_of(std::size_t box) const {
    return (boxes_[box].box.rows.count + places_[box].block_rows - 1) / places_[box].block_rows;
}

std::uint64_t PartWriter::lay_out(const fs::path& path, std::size_t part, std::uint64_t updates) {
    before(SaveStage::layout);
    hdf5::ReservedFile file(path, boxes_.size() + 1);
    hdf5::write_text(file.id(), "format", format);
    hdf5::write_number(file.id(), "schema_version", version);
    hdf5::write_text(file.id(), "save", state_.save);
    hdf5::write_number(file.id(), "part", state_.parts[part].number);
    hdf5::write_text(file.id(), state_sum, sha256_hex(json_of(state_)));
    hdf5::write_number(file.id(), update_count, updates);
    std::uint64_t sums = 0;
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
        const auto& [tensor, field, box] = boxes_[b];
        const CheckpointTensor& facts = state_.tensors[tensor];
        const hdf5::Array array = hdf5::create_array(file.id(), array_path(field, facts.name, box), facts.type,
                                                     {box.rows.count, box.columns.count});
        places_.push_back(place_of(boxes_[b]));
        places_.back().offset = array.offset;
        hdf5::write_numbers(
            array.dataset.get(), box_attribute,
            std::array<std::uint64_t, 4>{box.rows.begin, box.rows.count, box.columns.begin, box.columns.count});
        hdf5::write_numbers(array.dataset.get(), sums_attribute,
                            std::array<std::uint64_t, 2>{sums, places_.back().block_rows});
        sums += sums_of(b);
    }
    sums_offset_ = hdf5::create_array(file.id(), sums_array, StoredType::u8, {sums, sum_digits}).offset;
    return file.close();
}

void PartWriter::write(const Rows& rows) const {
    before(SaveStage::space);
    file_.reserve(bytes_);
    before(SaveStage::data);
    std::string sums;
    for (std::size_t b = 0; b < boxes_.size(); ++b) {
        const Place& place = places_[b];
        for (Range block{0, place.block_rows}; block.begin < boxes_[b].box.rows.count;
             block.begin += place.block_rows) {
            block.count = std::min(place.block_rows, boxes_[b].box.rows.count - block.begin);
            const std::span<const std::byte> bytes = rows(b, block);
            Sha256 sum;
            sum.update(bytes);
            sums += sum.hex();
            file_.write(place.offset + block.begin * place.row_bytes, bytes);
        }
    }
    before(SaveStage::sums);
    file_.write(sums_offset_, std::as_bytes(std::span(sums)));
    before(SaveStage::sync);
    file_.sync();
}

}  // namespace trireme
