// A treemap: rectangles as square as they go, their areas as the values are.

/** Places of values (largest first) in a box: `{ x, y, width, height }` each, in shares of the box. */
export function treemap(values, width, height) {
  const total = values.reduce((sum, value) => sum + value, 0) || 1;
  const areas = values.map((value) => (value / total) * width * height);
  const box = { x: 0, y: 0, width, height };
  const places = [];
  let row = [];
  for (const area of areas) {
    const side = Math.min(box.width, box.height);
    if (row.length && worst([...row, area], side) > worst(row, side)) {
      places.push(...laid(row, box));
      row = [];
    }
    row.push(area);
  }
  places.push(...laid(row, box));
  return places.map((place) => ({
    x: place.x / width,
    y: place.y / height,
    width: place.width / width,
    height: place.height / height,
  }));
}

/** How far from square the worst of a row would be. */
function worst(row, side) {
  const sum = row.reduce((total, area) => total + area, 0);
  return Math.max(
    (side * side * Math.max(...row)) / (sum * sum),
    (sum * sum) / (side * side * Math.min(...row)),
  );
}

/** Place a row along the shorter side of the box, and take it off the box. */
function laid(row, box) {
  const sum = row.reduce((total, area) => total + area, 0);
  const upright = box.width >= box.height;
  const thick = sum / (upright ? box.height : box.width) || 0;
  let along = upright ? box.y : box.x;
  const places = row.map((area) => {
    const length = area / thick || 0;
    const place = upright
      ? { x: box.x, y: along, width: thick, height: length }
      : { x: along, y: box.y, width: length, height: thick };
    along += length;
    return place;
  });
  if (upright) {
    box.x += thick;
    box.width -= thick;
  } else {
    box.y += thick;
    box.height -= thick;
  }
  return places;
}
