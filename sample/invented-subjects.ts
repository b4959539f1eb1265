import type { NamedRecord } from '../src/resources/reference-lists/fields.ts';

/** An invented solicitation's title, NIGP code and description. */
export type Subject = readonly [title: string, code: string, description: string];

/** The lead entities that issue the invented solicitations, so that none is laid at a real one's door. */
export const INVENTED_LEAD_ENTITIES: readonly [NamedRecord, ...NamedRecord[]] = [
  { id: 'le_example_city', name: 'Example City (invented)' },
  { id: 'le_example_county', name: 'Example County (invented)' },
  { id: 'le_example_schools', name: 'Example School District (invented)' },
  { id: 'le_example_university', name: 'Example State University (invented)' },
  { id: 'le_example_transit', name: 'Example Transit Authority (invented)' },
];

/** A dozen subjects for each of `INVENTED_LEAD_ENTITIES`, in their order. */
export const SUBJECTS: readonly Subject[] = [
  ['Street resurfacing', '91395', 'Milling and paving of twelve miles of residential streets.'],
  ['School bus fleet', '07003', 'Ten electric school buses with chargers, delivered and commissioned.'],
  ['Fire hydrant maintenance', '93636', 'Yearly inspection, flushing and repair of 2,400 hydrants.'],
  ['Library shelving', '42053', 'Steel shelving for two branch libraries, installed.'],
  ['Tree planting', '98887', 'Six hundred street trees, planted and watered for two years.'],
  ['Payroll software', '20854', 'Hosted payroll for 3,000 employees, with data migration.'],
  ['Water meter replacement', '89043', 'Automatic meters for 18,000 accounts.'],
  ['Janitorial services', '91039', 'Daily cleaning of nine municipal buildings.'],
  ['Traffic signal controllers', '55080', 'Controllers and cabinets for forty intersections.'],
  ['Police body cameras', '84070', 'Three hundred cameras with five years of storage.'],
  ['Stormwater master plan', '91843', 'A plan for the basins of Mill Creek and Café Row.'],
  ['Playground equipment', '65035', 'Accessible equipment for four neighborhood parks.'],

  ['Bridge inspection', '92517', 'Two-year inspections of 140 county bridges.'],
  ['Road salt', '77570', 'Up to 20,000 tons of road salt, delivered to three yards.'],
  ['Jail food service', '96115', 'Three meals a day for 450 people, with special diets.'],
  ['Election equipment', '57824', 'Ballot scanners and accessible voting stations for 90 precincts.'],
  ['Ambulances', '07102', 'Six ambulances with powered stretchers.'],
  ['Emergency radio system', '83833', 'Digital radios and two towers for all first responders.'],
  ['Courthouse roof', '91473', 'Replacement of 38,000 square feet of membrane roof.'],
  ['Mosquito control', '91059', 'Surveillance and treatment from May to October.'],
  ['Property tax billing', '96618', 'Printing and mailing of 160,000 bills a year.'],
  ['Landfill gas monitoring', '92645', 'Quarterly sampling and reports for two closed landfills.'],
  ['Patrol vehicles', '07105', 'Forty hybrid patrol vehicles, with lights and partitions installed.'],
  ['Document scanning', '92039', 'Scanning and indexing of two million pages of land records.'],

  ['Classroom laptops', '20454', 'Four thousand laptops with a four-year warranty.'],
  ['Milk and dairy products', '38040', 'Daily delivery to 31 schools.'],
  ['Gymnasium floors', '91439', 'Sanding and refinishing of eleven gymnasium floors.'],
  ['Special education transport', '95890', 'Door-to-door transport of 220 students.'],
  ['Interactive whiteboards', '78583', 'Whiteboards for 180 classrooms, mounted and connected.'],
  ['Boiler replacement', '03109', 'Condensing boilers for three elementary schools.'],
  ['Reading curriculum', '71510', 'Textbooks and licenses for grades one to five.'],
  ['Lead testing of drinking water', '96196', 'Sampling of every tap in 31 schools.'],
  ['Security cameras', '68087', 'Cameras and recorders for six high schools.'],
  ['Cafeteria tables', '42027', 'Three hundred folding tables with benches.'],
  ['Substitute teacher staffing', '96269', 'Recruiting and scheduling of substitute teachers.'],
  ['Band instruments', '58017', 'Brass, woodwind and percussion for two high schools.'],

  ['Laboratory freezers', '49346', 'Twenty freezers at minus eighty degrees, with monitoring.'],
  ['Residence hall furniture', '42069', 'Beds, desks and wardrobes for 600 rooms.'],
  ['Campus network upgrade', '20664', 'Wireless access points and switches in 44 buildings.'],
  ['Electron microscope', '49048', 'A scanning electron microscope with training and service.'],
  ['Student health insurance', '95348', 'A plan for 9,000 international and graduate students.'],
  ['Elevator maintenance', '91013', 'Maintenance and modernization of 112 elevators.'],
  ['Library journals', '71580', 'Electronic subscriptions in science and engineering.'],
  ['Dining hall renovation', '90956', 'Renovation of the north dining hall, in two phases.'],
  ['Executive search', '96120', 'Search for a dean of engineering.'],
  ['Hazardous waste disposal', '92645', 'Collection from 70 laboratories every two weeks.'],
  ['Stadium scoreboard', '80112', 'A video scoreboard with sound and control room.'],
  ['Steam line repair', '91371', 'Excavation and repair of 2,100 feet of steam line.'],

  ['Electric buses', '55605', 'Thirty forty-foot buses with depot chargers.'],
  ['Fare collection system', '55639', 'Contactless validators, vending machines and an account system.'],
  ['Bus shelter cleaning', '91039', 'Weekly cleaning of 520 shelters.'],
  ['Diesel fuel', '40509', 'Ultra-low sulfur diesel, about 2.4 million gallons a year.'],
  ['Paratransit operations', '95890', 'Operation of 85 vehicles for riders with disabilities.'],
  ['Track inspection', '92588', 'Ultrasonic inspection of 46 miles of light rail.'],
  ['Brake parts', '06027', 'Brake pads, rotors and calipers for the bus fleet.'],
  ['Transit security officers', '99046', 'Officers for stations and vehicles, day and night.'],
  ['Uniforms', '20085', 'Uniforms for 1,100 operators and mechanics.'],
  ['Escalator replacement', '29530', 'Replacement of fourteen escalators in five stations.'],
  ['Route planning study', '91896', 'A plan for the bus network of the next ten years.'],
  ['Vehicle tires', '86310', 'Leased tires and service, by the mile.'],
];
