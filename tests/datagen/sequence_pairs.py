"""Pairs of tools of the shipped catalogue, each read and labelled by hand: does the second sensibly follow the first by that value?

A pair is (source, output, target, parameter, follows). ``LABELLED_FIRST`` was drawn at random from the R-P graph and
labelled before the rules of the sequence were written; ``HELD_OUT`` was drawn and labelled after, and is for measuring only.
Pairs on which a person would hesitate were left out.
"""

from __future__ import annotations

__all__ = ["HELD_OUT", "LABELLED_FIRST", "Pair"]

Pair = tuple[str, str, str, str, bool]

_YES = """
manufacturing/query_Defects value[].DefectId > manufacturing/update_QualityNotifications DefectId
hr/listDirectReports items[].employeeId > hr/getEmployee employeeId
sales/convertQuote salesOrderId > sales/changeSalesOrderItem salesOrderId
itsm/get_service_status services[].incident_id > itsm/escalate_incident incident_id
hr/listDirectReports items[].departmentId > hr/createJobRequisition departmentId
finance/searchSupplierInvoices invoices[].invoiceId > finance/getSupplierInvoice invoiceId
manufacturing/query_BillsOfMaterial value[].MaterialId > manufacturing/query_InspectionLots MaterialId
sales/searchSalesOrders salesOrders[].salesOrderId > sales/listSalesOrderItems salesOrderId
support/search_cases case_id > support/create_return case_id
procurement/searchSuppliers suppliers[].supplierId > procurement/updateSupplier supplierId
hr/decideLeaveRequest employeeId > hr/getLeaveBalance employeeId
manufacturing/query_ProductionOrders value[].OrderId > manufacturing/read_Operations OrderId
warehouse/getStockOverview rows[].bin > warehouse/openCycleCount bins
manufacturing/read_Defects InspectionLotId > manufacturing/read_InspectionLots InspectionLotId
legal/search_legal_contracts archive_id > legal/get_legal_contract archive_id
procurement/searchPurchaseContracts contracts[].supplierId > procurement/blockSupplier supplierId
warehouse/listAllocationProfiles [].materialId > warehouse/getStockOverview materialId
projects/find_projects project_id > projects/get_project project_id
warehouse/enterCount bin > warehouse/adjustStock bin
procurement/getPurchaseContract supplierId > procurement/inviteSuppliers supplierIds
projects/get_timesheet timesheet_id > projects/submit_timesheet timesheet_id
sales/listSalesOrderItems items[].productId > sales/getCustomerPrice productId
manufacturing/query_InspectionLots value[].InspectionLotId > manufacturing/create_Defects InspectionLotId
manufacturing/read_ProductionOrders MaterialId > manufacturing/query_QualityNotifications MaterialId
hr/searchEmployees items[].departmentId > hr/createJobRequisition departmentId
procurement/listSupplierContacts contacts[].contactId > events/invite_guests contact_ids
finance/searchSupplierInvoices invoices[].supplierId > procurement/blockSupplier supplierId
purchasing/query_InvoiceReceipt value[].PurchaseOrderItem > purchasing/query_PurchaseOrderItem PurchaseOrderItem
purchasing/query_GoodsReceipt value[].PurchaseOrderItem > purchasing/read_PurchaseOrderItem PurchaseOrderItem
itsm/search_assets assets[].ci_id > itsm/search_incidents ci_id
manufacturing/query_BillsOfMaterial value[].MaterialId > manufacturing/query_ProductionOrders MaterialId
manufacturing/query_InspectionLots value[].InspectionLotId > manufacturing/read_InspectionLots InspectionLotId
finance/getOpenReceivables openItems[].customerId > finance/sendDunningNotice customerId
finance/getJournalEntry lines[].costCenterId > finance/getCostCenterActuals costCenterId
warehouse/searchMaterials [].materialId > warehouse/getStockOverview materialId
warehouse/listAllocationProfiles [].materialId > warehouse/requestReplenishment materialId
"""
_NO = """
manufacturing/ConfirmOperation MaterialId > manufacturing/query_ProductionOrders MaterialId
purchasing/ConvertRequisitionToOrder CompanyCode > purchasing/create_PurchaseOrderHeader CompanyCode
finance/getPayment supplierId > finance/recordSupplierInvoice supplierId
facilities/getWorkOrder problem > facilities/createWorkOrder problem
purchasing/read_PurchaseOrderItem OrderQuantity > purchasing/create_PurchaseOrderItem OrderQuantity
manufacturing/InspectionLot.DecideUsage MaterialId > manufacturing/update_ProductionOrders MaterialId
manufacturing/query_BillsOfMaterial value[].MaterialId > manufacturing/update_InspectionLots MaterialId
manufacturing/create_Defects Remark > manufacturing/InspectionLot.DecideUsage Remark
manufacturing/create_Defects DefectId > manufacturing/query_Defects DefectId
facilities/createWorkOrder trade > facilities/listWorkOrders trade
manufacturing/read_BillsOfMaterial Components[].Quantity > manufacturing/update_Defects Quantity
manufacturing/InspectionLot.DecideUsage MaterialId > manufacturing/create_ProductionOrders MaterialId
finance/postJournalEntry fiscalYear > finance/transferBudget fiscalYear
manufacturing/ProductionOrder.Release MaterialId > manufacturing/query_QualityNotifications MaterialId
purchasing/read_PurchaseRequisitionItem FixedSupplier > purchasing/update_PurchaseRequisitionItem FixedSupplier
procurement/listSupplierContacts contacts[].contactId > support/open_case contact_id
manufacturing/read_ProductionOrders SalesOrderId > manufacturing/update_ProductionOrders SalesOrderId
travel/decideExpenseReport items[].expenseItemId > travel/attachReceipt expenseItemId
sales/createSalesOrder items[].productId > sales/getCustomerPrice productId
manufacturing/query_ProductionOrders value[].SalesOrderId > manufacturing/create_ProductionOrders SalesOrderId
purchasing/read_PurchaseOrderHeader CompanyCode > purchasing/query_PurchaseOrderHeader CompanyCode
travel/addExpenseItem merchant > travel/updateExpenseItem merchant
manufacturing/ProductionOrder.Release MaterialId > manufacturing/update_ProductionOrders MaterialId
manufacturing/create_QualityNotifications Subject > manufacturing/update_QualityNotifications Subject
finance/postJournalEntry fiscalYear > finance/getBudget fiscalYear
purchasing/create_PurchaseOrderItem OrderQuantity > purchasing/update_PurchaseOrderItem OrderQuantity
manufacturing/read_WorkCenters Plant > manufacturing/update_InspectionLots Plant
sales/createOpportunity closeDate > sales/updateOpportunity closeDate
"""
_YES_LATER = """
manufacturing/query_Operations value[].WorkCenterId > manufacturing/query_WorkCenters WorkCenterId
procurement/searchSuppliers suppliers[].supplierId > procurement/getSupplierRisk supplierId
sales/searchSalesOrders salesOrders[].salesOrderId > sales/changeSalesOrderItem salesOrderId
warehouse/listOutboundDeliveries [].outboundDeliveryId > warehouse/confirmPicking outboundDeliveryId
warehouse/listInboundDeliveries [].items[].materialId > warehouse/listAllocationProfiles materialId
support/find_installed_equipment product_id > sales/createSalesOrder items[].productId
events/find_events events[].event_id > events/cancel_event event_id
sales/createCustomer customerId > sales/createSalesOrder customerId
manufacturing/read_BillsOfMaterial MaterialId > manufacturing/create_ProductionOrders MaterialId
support/find_installed_equipment product_id > sales/getCustomerPrice productId
projects/list_project_tasks task_id > projects/update_task_status task_id
procurement/searchPurchaseContracts contracts[].supplierId > procurement/getSupplierScorecard supplierId
procurement/searchSuppliers suppliers[].supplierId > procurement/getSupplier supplierId
hr/listLeaveRequests items[].leaveRequestId > hr/cancelLeaveRequest leaveRequestId
support/find_installed_equipment serial_number > support/order_spare_part serial_number
support/search_cases case_id > support/close_case case_id
finance/getCustomerInvoice customerId > finance/sendDunningNotice customerId
purchasing/read_PurchaseOrderItem PurchaseRequisitionItem > purchasing/query_PurchaseRequisitionItem PurchaseRequisitionItem
support/open_case case_id > support/escalate_case case_id
sales/searchSalesOrders salesOrders[].salesOrderId > finance/searchCustomerInvoices salesOrderId
hr/getManager departmentId > hr/getDepartment departmentId
hr/listDirectReports items[].employeeId > hr/enrolInCourse employeeId
sales/searchSalesOrders salesOrders[].salesOrderId > support/create_return salesOrderId
hr/searchEmployees items[].employeeId > hr/getManager employeeId
itsm/search_assets assets[].serial_number > support/order_spare_part serial_number
sales/listCustomerContacts contacts[].contactId > sales/sendQuote contactId
finance/createPayment paymentId > finance/getPayment paymentId
"""
_NO_LATER = """
travel/getExpenseReport items[].expenseItemId > travel/addExpenseItem expenseItemId
finance/getCostCenter departmentId > hr/updateEmployee departmentId
support/check_warranty serial_number > support/search_cases serial_number
facilities/listVisitors visits[].arrival > facilities/registerVisitor arrival
purchasing/create_PurchaseRequisitionItem BaseUnit > purchasing/update_PurchaseRequisitionItem BaseUnit
finance/listJournalEntries entries[].companyCode > finance/reverseJournalEntry companyCode
manufacturing/query_QualityNotifications value[].SupplierId > manufacturing/create_QualityNotifications SupplierId
travel/searchExpenseReports reports[].items[].receiptId > travel/addExpenseItem receiptId
procurement/awardRfq supplierId > procurement/getSupplierRisk supplierId
hr/requestLeave leaveRequestId > hr/cancelLeaveRequest leaveRequestId
travel/bookFlight bookingId > travel/cancelBooking bookingId
purchasing/read_PurchaseOrderItem OrderUnit > purchasing/update_PurchaseOrderItem OrderUnit
finance/releaseSupplierInvoice supplierId > finance/searchSupplierInvoices supplierId
purchasing/ResendOrderToSupplier PurchaseOrder > purchasing/query_PurchaseRequisitionItem PurchaseOrder
warehouse/announceInboundDelivery items[].materialId > warehouse/getStockOverview materialId
hr/decideLeaveRequest employeeId > hr/proposeSalaryChange employeeId
procurement/getPurchaseContract supplierId > procurement/onboardSupplier supplierId
"""


def _pairs(text: str, *, follows: bool) -> list[Pair]:
    found: list[Pair] = []
    for line in text.strip().splitlines():
        source, output, _, target, parameter = line.split(" ")
        found.append((source, output, target, parameter, follows))
    return found


LABELLED_FIRST: tuple[Pair, ...] = (*_pairs(_YES, follows=True), *_pairs(_NO, follows=False))
HELD_OUT: tuple[Pair, ...] = (*_pairs(_YES_LATER, follows=True), *_pairs(_NO_LATER, follows=False))
