// A study's table and charts, from the rows of its points.
#pragma once

#include <vector>

#include "row.hpp"

namespace trireme::studies {

struct TableRow {
    const Point* point = nullptr;
    Row row = {};
};

// OUTPUT/NAME.csv, whose first line is a comment that names the command, and whose column "program" names the
// version that ran each row; and, for each chart, OUTPUT/NAME-FIGURE.svg. `points` are all of the study: what
// their axes say are the columns, whichever of them have rows.
void write_table(const Study& study, const std::vector<Point>& points, const std::vector<TableRow>& rows,
                 const std::filesystem::path& output);

}  // namespace trireme::studies
